import type { CommandEntry } from "./command.ts";

export const commands: readonly CommandEntry[] = [
  {
    name: "apiserver",
    short: "Serve the Kubernetes API",
    load: async () => (await import("./commands/apiserver.ts")).apiserver,
  },
  {
    name: "store",
    short: "Look after the store of a cluster: snapshots, checks, compaction, moving it to another engine",
    load: async () => (await import("./commands/store.ts")).store,
  },
  {
    name: "version",
    short: "Print the version of knarr and of the Kubernetes it speaks",
    load: async () => (await import("./commands/version.ts")).version,
  },
];
