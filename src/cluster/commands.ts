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
    short: "Show what a cluster logs, or search what its pods wrote",
    load: async () => (await import("./commands/logs.ts")).logs,
  },
  {
    name: "load",
    short: "Bring images from archives to the nodes of a cluster",
    load: async () => (await import("./commands/load.ts")).load,
  },
  {
    name: "addon",
    short: "List the add-ons of a cluster, enable and disable them",
    load: async () => (await import("./commands/addon.ts")).addon,
  },
  {
    name: "node",
    short: "Switch a node of a cluster off and on",
    load: async () => (await import("./commands/node.ts")).node,
  },
  {
    name: "token",
    short: "Make, show and delete the tokens by which other machines join a cluster",
    load: async () => (await import("./commands/token.ts")).tokenCommand,
  },
  {
    name: "join",
    short: "Make this machine a node of a cluster that runs on another",
    load: async () => (await import("./commands/join.ts")).joinCommand,
  },
  {
    name: "leave",
    short: "Take this machine out of the cluster that it has joined",
    load: async () => (await import("./commands/leave.ts")).leaveCommand,
  },
  {
    name: "run-machine",
    short: "Be the process of a machine that has joined",
    isHidden: true,
    load: async () => (await import("./commands/run-machine.ts")).runMachineCommand,
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
    name: "kubelet",
    short: "Run the pods of this machine alone",
    load: async () => (await import("./commands/kubelet.ts")).kubeletCommand,
  },
  {
    name: "proxy",
    short: "Carry traffic for services on this machine",
    load: async () => (await import("./commands/proxy.ts")).proxyCommand,
  },
  {
    name: "dns",
    short: "Answer DNS queries for a cluster, as a Corefile says",
    load: async () => (await import("./commands/dns.ts")).dns,
  },
  {
    name: "ingress",
    short: "Serve the Ingresses of a cluster with a HAProxy",
    load: async () => (await import("./commands/ingress.ts")).ingress,
  },
  {
    name: "gateway",
    short: "Keep a HAProxy configured as the Gateways of a cluster say (Gateway API)",
    load: async () => (await import("./commands/gateway.ts")).gateway,
  },
  {
    name: "cluster-logs",
    short: "Collect the logs of a node's containers, or keep those of a cluster",
    load: async () => (await import("./commands/cluster-logs.ts")).clusterLogs,
  },
  {
    name: "store",
    short: "Look after the store of a cluster: snapshots, checks, compaction, moving it to another engine",
    load: async () => (await import("./commands/store.ts")).store,
  },
  {
    name: "backup",
    short: "Write all that a cluster is made of to one file",
    load: async () => (await import("./commands/backup.ts")).backup,
  },
  {
    name: "restore",
    short: "Make a cluster anew from its backup",
    load: async () => (await import("./commands/restore.ts")).restore,
  },
  {
    name: "upgrade",
    short: "Bring a cluster to the version of this checkout",
    load: async () => (await import("./commands/upgrade.ts")).upgrade,
  },
  {
    name: "service",
    short: "Have systemd start a cluster when its machine boots",
    load: async () => (await import("./commands/service.ts")).service,
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
