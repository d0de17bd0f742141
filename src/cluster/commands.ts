import type { CommandEntry } from "#cli/command.ts";

/** Adding a command is a file in commands/ and an entry here. */
export const commands: readonly CommandEntry[] = [
  {
    name: "up",
    short: "Start a cluster on this machine",
    load: async () => (await import("./commands/up.ts")).up,
  },
  {
    name: "down",
    short: "End a cluster and remove all that is left of it",
    load: async () => (await import("./commands/down.ts")).down,
  },
  {
    name: "stop",
    short: "End a cluster and keep its state",
    load: async () => (await import("./commands/stop.ts")).stop,
  },
  {
    name: "start",
    short: "Continue a cluster that was stopped",
    load: async () => (await import("./commands/start.ts")).start,
  },
  {
    name: "status",
    short: "Say how a cluster is",
    load: async () => (await import("./commands/status.ts")).status,
  },
  {
    name: "logs",
    short: "Show what a cluster logs",
    load: async () => (await import("./commands/logs.ts")).logs,
  },
  {
    name: "load",
    short: "Bring images from archives to the nodes of a cluster",
    load: async () => (await import("./commands/load.ts")).load,
  },
  {
    name: "node",
    short: "Switch a node of a cluster off and on",
    load: async () => (await import("./commands/node.ts")).node,
  },
  {
    name: "certs",
    short: "Say until when the certificates of a cluster are good, and make new ones",
    load: async () => (await import("./commands/certs.ts")).certs,
  },
  {
    name: "kubeconfig",
    short: "Print the kubeconfig of a cluster",
    load: async () => (await import("./commands/kubeconfig.ts")).kubeconfig,
  },
  {
    name: "kubectl",
    short: "Work with any Kubernetes cluster, as kubectl does",
    isProgram: true,
    load: async () => (await import("./commands/kubectl.ts")).kubectl,
  },
  {
    name: "run-cluster",
    short: "Be the process of a cluster",
    isHidden: true,
    load: async () => (await import("./commands/run-cluster.ts")).runClusterCommand,
  },
  {
    name: "run-forwarder",
    short: "Carry connections for services in the network of a node",
    isHidden: true,
    load: async () => (await import("./commands/run-forwarder.ts")).runForwarderCommand,
  },
  {
    name: "apiserver",
    short: "Serve the Kubernetes API",
    load: async () => (await import("./commands/apiserver.ts")).apiserver,
  },
  {
    name: "controller-manager",
    short: "Run the controllers alone",
    load: async () => (await import("./commands/controller-manager.ts")).controllerManagerCommand,
  },
  {
    name: "scheduler",
    short: "Run the scheduler alone",
    load: async () => (await import("./commands/scheduler.ts")).schedulerCommand,
  },
  {
    name: "proxy",
    short: "Carry traffic for services on this machine",
    load: async () => (await import("./commands/proxy.ts")).proxyCommand,
  },
  {
    name: "store",
    short: "Look after the store of a cluster: snapshots, checks, compaction, moving it to another engine",
    load: async () => (await import("./commands/store.ts")).store,
  },
  {
    name: "trace",
    short: "Show the writes that led to an object and followed from it, with their causes and times",
    load: async () => (await import("./commands/trace.ts")).trace,
  },
  {
    name: "why",
    short: "Say why an object is in the state it is in, or what is missing for what was refused, and what helps",
    load: async () => (await import("./commands/why.ts")).why,
  },
  {
    name: "version",
    short: "Print the version of knarr and of the Kubernetes it speaks",
    load: async () => (await import("./commands/version.ts")).version,
  },
];
