import type { KubectlCommandEntry } from "../command.ts";

const group = "Troubleshooting and Debugging Commands";

/** Commands that look into what runs, and settings of kubectl itself. */
export const troubleshootingCommands: readonly KubectlCommandEntry[] = [
  {
    name: "cp",
    short: "Copy files and folders to and from containers",
    group,
    load: async () => (await import("./stream/cp.ts")).cp,
  },
  {
    name: "debug",
    short: "Look into pods and nodes with containers for debugging",
    group,
    load: async () => (await import("./debug/debug.ts")).debug,
  },
  {
    name: "proxy",
    short: "Serve the API of the server on this machine",
    group,
    load: async () => (await import("./proxy/proxy.ts")).proxy,
  },
  {
    name: "top",
    short: "Show how much processor time and memory is used",
    group: "Cluster Management Commands",
    load: async () => (await import("./top/top.ts")).top,
  },
  {
    name: "completion",
    short: "Print what makes a shell complete command lines",
    group: "Settings Commands",
    load: async () => (await import("./completion.ts")).completion,
  },
  {
    name: "kuberc",
    short: "Read and change the file of your preferences",
    load: async () => (await import("./kuberc/kuberc.ts")).kuberc,
  },
];
