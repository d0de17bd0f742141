// Which controllers run, as `--controllers` says.
import { UsageError } from "#base/errors.ts";

/** Every controller of upstream's, with the older name it is known by as well; ours are among them. */
const names: Readonly<Record<string, string>> = {
  "bootstrap-signer-controller": "bootstrapsigner",
  "certificatesigningrequest-approving-controller": "csrapproving",
  "certificatesigningrequest-cleaner-controller": "csrcleaner",
  "certificatesigningrequest-signing-controller": "csrsigning",
  "cloud-node-lifecycle-controller": "cloud-node-lifecycle",
  "clusterrole-aggregation-controller": "clusterrole-aggregation",
  "cronjob-controller": "cronjob",
  "daemonset-controller": "daemonset",
  "deployment-controller": "deployment",
  "device-taint-eviction-controller": "",
  "disruption-controller": "disruption",
  "endpoints-controller": "endpoint",
  "endpointslice-controller": "endpointslice",
  "endpointslice-mirroring-controller": "endpointslicemirroring",
  "ephemeral-volume-controller": "ephemeral-volume",
  "garbage-collector-controller": "garbagecollector",
  "horizontal-pod-autoscaler-controller": "horizontalpodautoscaling",
  "job-controller": "job",
  "kube-apiserver-serving-clustertrustbundle-publisher-controller": "",
  "legacy-serviceaccount-token-cleaner-controller": "legacy-service-account-token-cleaner",
  "namespace-controller": "namespace",
  "node-ipam-controller": "nodeipam",
  "node-lifecycle-controller": "nodelifecycle",
  "node-route-controller": "route",
  "persistentvolume-attach-detach-controller": "attachdetach",
  "persistentvolume-binder-controller": "persistentvolume-binder",
  "persistentvolume-expander-controller": "persistentvolume-expander",
  "persistentvolume-protection-controller": "pv-protection",
  "persistentvolumeclaim-protection-controller": "pvc-protection",
  "pod-garbage-collector-controller": "podgc",
  "podcertificaterequest-cleaner-controller": "",
  "podgroup-protection-controller": "",
  "replicaset-controller": "replicaset",
  "replicationcontroller-controller": "replicationcontroller",
  "resourceclaim-controller": "resource-claim-controller",
  "resourcepoolstatusrequest-controller": "",
  "resourcequota-controller": "resourcequota",
  "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
  "selinux-warning-controller": "",
  "service-cidr-controller": "",
  "service-lb-controller": "service",
  "serviceaccount-controller": "serviceaccount",
  "serviceaccount-token-controller": "serviceaccount-token",
  "statefulset-controller": "statefulset",
  "storage-version-migrator-controller": "svm",
  "storageversion-garbage-collector-controller": "storage-version-gc",
  "taint-eviction-controller": "",
  "token-cleaner-controller": "tokencleaner",
  "ttl-after-finished-controller": "ttl-after-finished",
  "ttl-controller": "ttl",
  "validatingadmissionpolicy-status-controller": "",
  "volumeattributesclass-protection-controller": "",
};
const offUnlessNamed: ReadonlySet<string> = new Set([
  "bootstrap-signer-controller",
  "selinux-warning-controller",
  "token-cleaner-controller",
]);

export const knownControllers: readonly string[] = Object.keys(names);

/** Reads `*,-deployment-controller,bootstrapsigner`: the first that names a controller decides. Throws UsageError for an unknown name. */
export function controllerSwitch(switches: readonly string[]): (name: string) => boolean {
  const chosen = new Map<string, boolean>();
  for (const text of switches) {
    if (text === "*") continue;
    const asked = text.replace(/^-/, "");
    const name = Object.hasOwn(names, asked) ? asked : knownControllers.find((known) => names[known] === asked);
    if (name === undefined || asked === "")
      throw new UsageError(`--controllers: ${JSON.stringify(asked)} is not in the list of known controllers`);
    if (!chosen.has(name)) chosen.set(name, !text.startsWith("-"));
  }
  const isOnAnyway = switches.includes("*");
  return (name) => chosen.get(name) ?? (isOnAnyway && !offUnlessNamed.has(name));
}
