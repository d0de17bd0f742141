import type { KubectlCommandEntry } from "../command.ts";
import { troubleshootingCommands } from "./troubleshooting.ts";
import { writingCommands } from "./writing.ts";

/** Adding a command is a file and an entry here. */
export const commands: readonly KubectlCommandEntry[] = [
  ...writingCommands,
  ...troubleshootingCommands,
  {
    name: "api-resources",
    short: "Print the API resources that the server serves",
    load: async () => (await import("./api-resources.ts")).apiResources,
  },
  {
    name: "api-versions",
    short: 'Print the API versions that the server serves, as "group/version"',
    load: async () => (await import("./api-versions.ts")).apiVersions,
  },
  {
    name: "config",
    short: "Read and change kubeconfig files",
    load: async () => (await import("./config/config.ts")).config,
  },
  {
    name: "get",
    short: "Display one or many resources",
    group: "Basic Commands (Intermediate)",
    load: async () => (await import("./get/get.ts")).get,
  },
  {
    name: "options",
    short: "Print the flags that every command takes",
    load: async () => (await import("./options.ts")).options,
  },
  {
    name: "version",
    short: "Print the versions of the client and of the server",
    load: async () => (await import("./version.ts")).version,
  },
  {
    name: "attach",
    short: "Attach to a running container",
    group: "Troubleshooting and Debugging Commands",
    load: async () => (await import("./stream/attach.ts")).attach,
  },
  {
    name: "auth",
    short: "Inspect authorization",
    group: "Troubleshooting and Debugging Commands",
    load: async () => (await import("./auth/auth.ts")).auth,
  },
  {
    name: "cluster-info",
    short: "Display where the cluster is",
    group: "Cluster Management Commands",
    load: async () => (await import("./cluster-info.ts")).clusterInfo,
  },
  {
    name: "exec",
    short: "Run a command in a container",
    group: "Troubleshooting and Debugging Commands",
    load: async () => (await import("./stream/exec.ts")).exec,
  },
  {
    name: "logs",
    short: "Print the logs of a container in a pod",
    group: "Troubleshooting and Debugging Commands",
    load: async () => (await import("./logs.ts")).logs,
  },
  {
    name: "wait",
    short: "Wait for objects to be in a state",
    group: "Advanced Commands",
    load: async () => (await import("./wait.ts")).wait,
  },
  {
    name: "cordon",
    short: "Mark nodes as unschedulable",
    group: "Cluster Management Commands",
    load: async () => (await import("./drain/cordon.ts")).cordon,
  },
  {
    name: "drain",
    short: "Make a node ready for maintenance",
    group: "Cluster Management Commands",
    load: async () => (await import("./drain/drain.ts")).drain,
  },
  {
    name: "uncordon",
    short: "Mark nodes as schedulable",
    group: "Cluster Management Commands",
    load: async () => (await import("./drain/cordon.ts")).uncordon,
  },
  {
    name: "port-forward",
    short: "Pass local ports on to a pod",
    group: "Troubleshooting and Debugging Commands",
    load: async () => (await import("./stream/port-forward.ts")).portForward,
  },
  {
    name: "describe",
    short: "Show details of objects",
    group: "Troubleshooting and Debugging Commands",
    load: async () => (await import("./describe.ts")).describe,
  },
  {
    name: "events",
    short: "List events",
    group: "Troubleshooting and Debugging Commands",
    load: async () => (await import("./events.ts")).events,
  },
  {
    name: "explain",
    short: "Describe the fields of a resource",
    group: "Basic Commands (Intermediate)",
    load: async () => (await import("./explain.ts")).explain,
  },
  {
    name: "plugin",
    short: "Programs on the PATH that are commands",
    load: async () => (await import("./plugin.ts")).plugin,
  },
  {
    name: "taint",
    short: "Update the taints of one or more nodes",
    group: "Cluster Management Commands",
    load: async () => (await import("./drain/taint.ts")).taint,
  },
];
