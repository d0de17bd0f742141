// The flags of a kubelet that runs alone, by upstream's names. Those that a KubeletConfiguration can say as well have no default here: what
// is given on the command line counts before the file, and the file before the default.
// Upstream: cmd/kubelet/app/options/options.go.
import type { Flags, FlagValues } from "#cli/flags.ts";
import { ineffectivePartFlags } from "../ineffective-flags.ts";

const unused = (type: "string" | "int" | "bool" | "strings", why: string) =>
  ({ type, help: `Without effect: ${why}` }) as const;

export const kubeletFlags = {
  ...ineffectivePartFlags,
  config: { type: "string", value: "FILE", help: "A KubeletConfiguration of kubelet.config.k8s.io/v1beta1" },
  kubeconfig: { type: "string", value: "FILE", help: "Where the API server is, and who we are there" },
  "bootstrap-kubeconfig": {
    type: "string",
    value: "FILE",
    help: "What to ask for a client certificate with, if --kubeconfig is not there or its certificate has ended",
  },
  "cert-dir": {
    type: "string",
    value: "FOLDER",
    default: "/var/lib/kubelet/pki",
    help: "Where our certificates are kept",
  },
  "root-dir": {
    type: "string",
    value: "FOLDER",
    default: "/var/lib/kubelet",
    help: "Where volumes, logs and state are kept",
  },
  "hostname-override": { type: "string", value: "NAME", help: "Name of the node (default: that of this machine)" },
  "node-ip": {
    type: "string",
    value: "IP",
    help: "Address of the node (default: the one that the API server is reached from)",
  },
  "node-labels": { type: "strings", value: "KEY=VALUE", help: "Labels of the node" },
  "register-node": { type: "bool", help: "Make the Node if there is none (default true)" },
  "register-with-taints": {
    type: "strings",
    value: "KEY=VALUE:EFFECT",
    help: "Taints of a node that registers for the first time",
  },
  "register-schedulable": { type: "bool", help: "false registers the node as one that gets no pods (default true)" },
  "pod-manifest-path": { type: "string", value: "FOLDER", help: "Folder of static pods" },
  "manifest-url": { type: "string", value: "URL", help: "Address of static pods" },
  "manifest-url-header": { type: "strings", value: "KEY:VALUE", help: "Headers to ask for --manifest-url with" },
  "container-runtime-endpoint": {
    type: "string",
    value: "unix:///PATH",
    help: "Socket of the container runtime (default unix:///run/containerd/containerd.sock)",
  },
  address: { type: "string", value: "IP", help: "Address to serve on (default 0.0.0.0)" },
  port: { type: "int", help: "Port to serve on (default 10250)" },
  "healthz-bind-address": { type: "string", value: "IP", help: "Address of /healthz without TLS (default 127.0.0.1)" },
  "healthz-port": { type: "int", help: "Port of it; 0 is off (default 10248)" },
  "client-ca-file": { type: "string", value: "FILE", help: "Authority whose client certificates are believed" },
  "anonymous-auth": {
    type: "bool",
    help: "Ask the API server about those who show nothing, as system:anonymous (default false)",
  },
  "authorization-mode": { type: "string", value: "Webhook|AlwaysAllow", help: "Who may do what (default Webhook)" },
  "tls-cert-file": {
    type: "string",
    value: "FILE",
    help: "Certificate to serve with (default: one of our own in --cert-dir)",
  },
  "tls-private-key-file": { type: "string", value: "FILE", help: "Key of that certificate" },
  "rotate-certificates": { type: "bool", help: "Ask for a new client certificate before ours ends (default true)" },
  "rotate-server-certificates": {
    type: "bool",
    help: "Ask the API server for the certificate to serve with (default false)",
  },
  "max-pods": { type: "int", help: "Most pods of the node (default 110)" },
  "pod-max-pids": { type: "int", help: "Processes that a pod may have (default -1: as many as the machine allows)" },
  "cluster-dns": { type: "strings", value: "IPS", help: "Server of names for pods" },
  "cluster-domain": { type: "string", value: "DOMAIN", help: "Domain of the cluster (default cluster.local)" },
  "resolv-conf": {
    type: "string",
    value: "FILE",
    help: "What pods with the machine's names read (default /etc/resolv.conf)",
  },
  "cgroup-root": { type: "string", value: "GROUP", help: "Control group below which pods are (default /)" },
  "cgroup-driver": { type: "string", value: "cgroupfs", help: "Who makes control groups; only cgroupfs is supported" },
  "eviction-hard": { type: "strings", value: "SIGNAL<AMOUNT", help: "When pods are evicted (default as upstream)" },
  "image-gc-high-threshold": {
    type: "int",
    help: "Percent of the disk at which unused images are removed (default 85)",
  },
  "image-gc-low-threshold": { type: "int", help: "Percent of the disk down to which they are (default 80)" },
  "cloud-provider": unused("string", "nobody else has to prepare the node"),
  "fail-swap-on": unused("bool", "swap is no reason not to start"),
  "pod-infra-container-image": unused("string", "the runtime knows its sandbox image"),
  "image-service-endpoint": unused("string", "images are those of --container-runtime-endpoint"),
  "serialize-image-pulls": unused("bool", "images are pulled side by side"),
  "runtime-cgroups": unused("string", "the runtime is where it was started"),
  "kubelet-cgroups": unused("string", "we are where we were started"),
  "network-plugin": unused("string", "the runtime calls the CNI plugins"),
  "cni-bin-dir": unused("string", "the runtime knows its CNI plugins"),
  "cni-conf-dir": unused("string", "the runtime knows its CNI plugins"),
  "container-runtime": unused("string", "runtimes are reached over CRI"),
  "authentication-token-webhook": unused("bool", "tokens are reviewed by the API server in any case"),
  "feature-gates": unused("strings", "features are as Kubernetes v1.36 has them by default"),
  "node-status-update-frequency": unused("string", "the status is written when it changes, and every five minutes"),
  "streaming-connection-idle-timeout": unused("string", "streams last as long as both ends want"),
  v: { type: "int", default: 0, help: "Log more: 2 adds details" },
} as const satisfies Flags;

export type KubeletFlagValues = FlagValues<typeof kubeletFlags>;
