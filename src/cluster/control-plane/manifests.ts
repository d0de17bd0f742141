// The control plane as static pods, in the form that kubeadm gives them: on the network of the node, certificates and state from its
// disk, the programs' own flags, probes.
// Upstream: cmd/kubeadm/app/phases/controlplane/manifests.go.
import { Pod } from "#api/core/v1/pod.ts";
import type { Draft } from "#schema/infer.ts";

export interface ControlPlaneManifestOptions {
  /** The image of the programs of the control plane. */
  readonly image: string;
  /** Of the node, at which the API is served, and its port. */
  readonly address: string;
  readonly port: number;
  readonly serviceRange: string;
  /** Folders and files of the node's machine. */
  readonly paths: {
    readonly certificates: string;
    /** Has a folder for each part with a file `kubeconfig`: a file that is replaced in a mounted folder is seen in the pod. */
    readonly kubeconfigs: string;
    readonly encryption: string;
  };
  readonly store: EmbeddedState | EtcdState;
  /** Flags of the API server besides, such as `--runtime-config=api/all=true`. */
  readonly apiserverFlags: readonly string[];
}

interface EmbeddedState {
  readonly is: "embedded";
  /** Its folder, which the pod sees under the same path: whoever asks it for a copy names the path of the machine. */
  readonly folder: string;
}

interface EtcdState {
  readonly is: "etcd";
  readonly servers: readonly string[];
  /** Files of the machine, for the flags `--etcd-cafile` and so on. */
  readonly files: Readonly<Record<string, string>>;
  /** The member of this node, where one is started for the cluster. */
  readonly member?: {
    readonly image: string;
    readonly folder: string;
    /** Its command line, with the paths of the pod. */
    readonly args: readonly string[];
    readonly clientPort: number;
  };
}

/** Where pods see the certificates of the cluster. */
export const certificatesInPods = "/etc/kubernetes/pki";
/** Where an etcd sees its data. */
export const etcdDataInPods = "/var/lib/etcd";
const encryptionInPods = "/etc/kubernetes/encryption.yaml";
const pki = (name: string): string => `${certificatesInPods}/${name}`;
const frontProxy = (name: string): string => pki(`front-proxy/${name}`);
const kubeconfigOf = (part: string): string => `/etc/kubernetes/${part}/kubeconfig`;

type Spec = NonNullable<Draft<Pod>["spec"]>;
type Container = NonNullable<Spec["containers"]>[number];
type Probe = NonNullable<Container["livenessProbe"]>;

/** A folder or file of the machine, under the path that the pod sees. */
interface Mount {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly type: "Directory" | "DirectoryOrCreate" | "File";
  readonly isWritten?: boolean;
}

interface Part {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly requests: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  readonly probes: Pick<Container, "livenessProbe" | "readinessProbe" | "startupProbe">;
  readonly sharesProcesses?: boolean;
}

/** The pods of the control plane, by the names of their files without the ending. */
export function controlPlaneManifests(options: ControlPlaneManifestOptions): ReadonlyMap<string, Draft<Pod>> {
  const parts = [...etcdOf(options), apiserverOf(options), controllerManagerOf(options), schedulerOf(options)];
  return new Map(parts.map((part) => [part.name, podOf(part)]));
}

function apiserverOf(options: ControlPlaneManifestOptions): Part {
  const { image, address, port, serviceRange, paths, store, apiserverFlags } = options;
  const { flags, mounts } = store.is === "embedded" ? embeddedState(store) : etcdState(store);
  const ask = (path: string): Probe["httpGet"] => ({ host: address, path, port, scheme: "HTTPS" });
  return {
    name: "kube-apiserver",
    image,
    command: [
      "kube-apiserver",
      `--advertise-address=${address}`,
      "--allow-privileged=true",
      "--authorization-mode=Node,RBAC",
      `--client-ca-file=${pki("ca.crt")}`,
      "--enable-aggregator-routing=true",
      "--enable-bootstrap-token-auth=true",
      `--encryption-provider-config=${encryptionInPods}`,
      "--encryption-provider-config-automatic-reload=true",
      ...flags,
      `--kubelet-certificate-authority=${pki("ca.crt")}`,
      `--kubelet-client-certificate=${pki("apiserver-kubelet-client.crt")}`,
      `--kubelet-client-key=${pki("apiserver-kubelet-client.key")}`,
      "--kubelet-preferred-address-types=InternalIP,Hostname",
      `--proxy-client-cert-file=${frontProxy("client.crt")}`,
      `--proxy-client-key-file=${frontProxy("client.key")}`,
      "--requestheader-allowed-names=front-proxy-client",
      `--requestheader-client-ca-file=${frontProxy("ca.crt")}`,
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-username-headers=X-Remote-User",
      `--secure-port=${port}`,
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      "--service-account-max-token-expiration=8760h",
      `--service-account-signing-key-file=${pki("sa.key")}`,
      `--service-cluster-ip-range=${serviceRange}`,
      `--tls-cert-file=${pki("apiserver.crt")}`,
      `--tls-private-key-file=${pki("apiserver.key")}`,
      ...apiserverFlags,
    ],
    requests: { cpu: "250m" },
    mounts: [
      certificates(paths.certificates),
      { name: "encryption", from: paths.encryption, to: encryptionInPods, type: "File" },
      ...mounts,
    ],
    probes: {
      livenessProbe: often(ask("/livez")),
      readinessProbe: { httpGet: ask("/readyz"), failureThreshold: 3, periodSeconds: 1, timeoutSeconds: 15 },
      startupProbe: atStart(ask("/livez")),
    },
    // The lock of the store names the process that holds it, which has to mean the same to the next container and to the machine.
    sharesProcesses: store.is === "embedded",
  };
}

const embeddedState = ({
  folder,
}: EmbeddedState): { readonly flags: readonly string[]; readonly mounts: readonly Mount[] } => ({
  flags: [`--data-dir=${folder}`],
  mounts: [{ name: "store", from: folder, to: folder, type: "DirectoryOrCreate", isWritten: true }],
});

/** Files of an etcd that others run are seen under the path that they have; those of ours are among the certificates. */
function etcdState({ servers, files, member }: EtcdState) {
  const named = Object.entries(files);
  return {
    flags: [`--etcd-servers=${servers.join(",")}`, ...named.map(([flag, file]) => `--${flag}=${file}`)],
    mounts: member ? [] : named.map(([name, file]): Mount => ({ name, from: file, to: file, type: "File" })),
  };
}

/** Flags that the controller manager and the scheduler have in common. */
const partFlags = (kubeconfig: string): readonly string[] => [
  `--authentication-kubeconfig=${kubeconfig}`,
  `--authorization-kubeconfig=${kubeconfig}`,
  "--bind-address=127.0.0.1",
  `--kubeconfig=${kubeconfig}`,
  "--leader-elect=true",
];

function controllerManagerOf({ image, serviceRange, paths }: ControlPlaneManifestOptions): Part {
  const name = "kube-controller-manager";
  const kubeconfig = kubeconfigOf("controller-manager");
  return {
    name,
    image,
    command: [
      name,
      ...partFlags(kubeconfig),
      `--client-ca-file=${pki("ca.crt")}`,
      `--cluster-signing-cert-file=${pki("ca.crt")}`,
      `--cluster-signing-key-file=${pki("ca.key")}`,
      // Addresses of load balancers are given by who knows the machine: the process of the cluster.
      "--controllers=*,bootstrapsigner,tokencleaner,-service-lb-controller",
      `--requestheader-client-ca-file=${frontProxy("ca.crt")}`,
      `--root-ca-file=${pki("ca.crt")}`,
      `--service-account-private-key-file=${pki("sa.key")}`,
      `--service-cluster-ip-range=${serviceRange}`,
      "--use-service-account-credentials=true",
    ],
    requests: { cpu: "200m" },
    mounts: [certificates(paths.certificates), kubeconfigMount(paths.kubeconfigs, "controller-manager")],
    probes: partProbes(10_257),
  };
}

function schedulerOf({ image, paths }: ControlPlaneManifestOptions): Part {
  const name = "kube-scheduler";
  const kubeconfig = kubeconfigOf("scheduler");
  return {
    name,
    image,
    command: [name, ...partFlags(kubeconfig)],
    requests: { cpu: "100m" },
    mounts: [kubeconfigMount(paths.kubeconfigs, "scheduler")],
    probes: partProbes(10_259),
  };
}

function etcdOf({ store, paths, address }: ControlPlaneManifestOptions): readonly Part[] {
  if (store.is !== "etcd" || !store.member) return [];
  const { image, folder, args, clientPort } = store.member;
  const tcpSocket = { host: address, port: clientPort };
  return [
    {
      name: "etcd",
      image,
      command: ["etcd", ...args],
      requests: { cpu: "100m", memory: "100Mi" },
      mounts: [
        certificates(`${paths.certificates}/etcd`, pki("etcd")),
        { name: "data", from: folder, to: etcdDataInPods, type: "DirectoryOrCreate", isWritten: true },
      ],
      // It has no path for health that is served without a client certificate, short of a port that tells its metrics to everybody.
      probes: {
        livenessProbe: { ...often(undefined), tcpSocket },
        startupProbe: { ...atStart(undefined), tcpSocket },
      },
    },
  ];
}

const certificates = (from: string, to = certificatesInPods): Mount => ({ name: "pki", from, to, type: "Directory" });

const kubeconfigMount = (folder: string, part: string): Mount => ({
  name: "kubeconfig",
  from: `${folder}/${part}`,
  to: `/etc/kubernetes/${part}`,
  type: "Directory",
});

function partProbes(port: number): Part["probes"] {
  const ask = (path: string): Probe["httpGet"] => ({ host: "127.0.0.1", path, port, scheme: "HTTPS" });
  return { livenessProbe: often(ask("/livez")), startupProbe: atStart(ask("/livez")) };
}

const often = (httpGet: Probe["httpGet"]): Probe => ({
  ...(httpGet && { httpGet }),
  failureThreshold: 8,
  periodSeconds: 10,
  timeoutSeconds: 15,
});

/** Asked every second, where kubeadm asks every ten after the first ten: the parts start in a few. */
const atStart = (httpGet: Probe["httpGet"]): Probe => ({
  ...(httpGet && { httpGet }),
  failureThreshold: 240,
  periodSeconds: 1,
  timeoutSeconds: 15,
});

const podOf = ({ name, image, command, requests, mounts, probes, sharesProcesses }: Part): Draft<Pod> => ({
  apiVersion: Pod.apiVersion,
  kind: Pod.kind,
  metadata: { name, namespace: "kube-system", labels: { component: name, tier: "control-plane" } },
  spec: {
    hostNetwork: true,
    ...(sharesProcesses && { hostPID: true }),
    priority: 2_000_001_000,
    priorityClassName: "system-node-critical",
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name,
        image,
        imagePullPolicy: "IfNotPresent",
        command: [...command],
        resources: { requests: { ...requests } },
        ...probes,
        volumeMounts: mounts.map(({ name: mount, to, isWritten }) => ({
          name: mount,
          mountPath: to,
          ...(!isWritten && { readOnly: true }),
        })),
      },
    ],
    volumes: mounts.map(({ name: volume, from, type }) => ({ name: volume, hostPath: { path: from, type } })),
  },
});
