// What the arguments of commands are, by the path of the command. What is not here has none that could be guessed.

export type ArgumentSubject =
  /** First a type of resource, then names of it, or `type/name`. */
  | { readonly type: "any" }
  /** Names of one resource. */
  | { readonly type: "names"; readonly resource: string; readonly isSingle?: boolean }
  /** A pod, or another workload as `type/name`. */
  | { readonly type: "pods"; readonly others: readonly string[] }
  /** Types alone. */
  | { readonly type: "types" }
  /** One of these words. */
  | { readonly type: "words"; readonly words: readonly string[] }
  /** Entries of the kubeconfig. */
  | { readonly type: "config"; readonly list: "contexts" | "clusters" | "users" }
  /** Files of this machine and of pods. */
  | { readonly type: "copies" };

const any: ArgumentSubject = { type: "any" };
const nodes: ArgumentSubject = { type: "names", resource: "nodes" };
const workloads = [
  "daemonsets",
  "deployments",
  "jobs",
  "replicasets",
  "replicationcontrollers",
  "services",
  "statefulsets",
];
const rolled: ArgumentSubject = { type: "pods", others: ["daemonsets", "deployments", "statefulsets"] };

export const subjects: Readonly<Record<string, ArgumentSubject>> = {
  annotate: any,
  attach: { type: "pods", others: workloads },
  autoscale: any,
  certificate: { type: "words", words: [] },
  "certificate approve": { type: "names", resource: "certificatesigningrequests" },
  "certificate deny": { type: "names", resource: "certificatesigningrequests" },
  completion: { type: "words", words: ["bash", "fish", "powershell", "zsh"] },
  "config delete-cluster": { type: "config", list: "clusters" },
  "config delete-context": { type: "config", list: "contexts" },
  "config delete-user": { type: "config", list: "users" },
  "config get-contexts": { type: "config", list: "contexts" },
  "config rename-context": { type: "config", list: "contexts" },
  "config set-cluster": { type: "config", list: "clusters" },
  "config set-context": { type: "config", list: "contexts" },
  "config set-credentials": { type: "config", list: "users" },
  "config use": { type: "config", list: "contexts" },
  "config use-context": { type: "config", list: "contexts" },
  cordon: nodes,
  cp: { type: "copies" },
  debug: { type: "pods", others: ["nodes"] },
  delete: any,
  describe: any,
  drain: nodes,
  edit: any,
  exec: { type: "pods", others: workloads },
  explain: { type: "types" },
  expose: any,
  get: any,
  label: any,
  logs: { type: "pods", others: workloads },
  patch: any,
  "port-forward": { type: "pods", others: workloads },
  "rollout history": rolled,
  "rollout pause": rolled,
  "rollout restart": rolled,
  "rollout resume": rolled,
  "rollout status": rolled,
  "rollout undo": rolled,
  scale: any,
  "set env": any,
  "set image": any,
  "set resources": any,
  "set selector": any,
  "set serviceaccount": any,
  taint: any,
  "top node": { type: "names", resource: "nodes", isSingle: true },
  "top pod": { type: "names", resource: "pods", isSingle: true },
  trace: any,
  uncordon: nodes,
  wait: any,
  why: any,
};
