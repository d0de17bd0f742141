// Upstream: kubectl/pkg/cmd/config.
import { command, type KubectlCommandEntry } from "../../command.ts";

const subcommands: readonly KubectlCommandEntry[] = [
  {
    name: "current-context",
    short: "Display the current context",
    load: async () => (await import("./contexts.ts")).currentContext,
  },
  {
    name: "delete-cluster",
    short: "Delete a cluster of the kubeconfig",
    load: async () => (await import("./delete.ts")).deleteCluster,
  },
  {
    name: "delete-context",
    short: "Delete a context of the kubeconfig",
    load: async () => (await import("./delete.ts")).deleteContext,
  },
  {
    name: "delete-user",
    short: "Delete a user of the kubeconfig",
    load: async () => (await import("./delete.ts")).deleteUser,
  },
  {
    name: "get-clusters",
    short: "List the clusters of the kubeconfig",
    load: async () => (await import("./contexts.ts")).getClusters,
  },
  {
    name: "get-contexts",
    short: "List one or many contexts",
    load: async () => (await import("./contexts.ts")).getContexts,
  },
  {
    name: "get-users",
    short: "List the users of the kubeconfig",
    load: async () => (await import("./contexts.ts")).getUsers,
  },
  {
    name: "rename-context",
    short: "Give a context another name",
    load: async () => (await import("./contexts.ts")).renameContext,
  },
  { name: "set", short: "Set one value of a kubeconfig", load: async () => (await import("./set.ts")).set },
  {
    name: "set-cluster",
    short: "Set a cluster of the kubeconfig",
    load: async () => (await import("./set-cluster.ts")).setCluster,
  },
  {
    name: "set-context",
    short: "Set a context of the kubeconfig",
    load: async () => (await import("./set-context.ts")).setContext,
  },
  {
    name: "set-credentials",
    short: "Set a user of the kubeconfig",
    load: async () => (await import("./set-credentials.ts")).setCredentials,
  },
  { name: "unset", short: "Remove one value of a kubeconfig", load: async () => (await import("./set.ts")).unset },
  {
    name: "use-context",
    short: "Set the current context",
    aliases: ["use"],
    load: async () => (await import("./contexts.ts")).useContext,
  },
  {
    name: "view",
    short: "Display the settings of all kubeconfigs, or of one",
    load: async () => (await import("./view.ts")).view,
  },
];

export const config = command({
  use: "config SUBCOMMAND",
  long: "Read and change kubeconfig files.\n\nWhich file is read and changed: with --kubeconfig, that one alone; else those that $KUBECONFIG lists, merged, of which each entry is changed where it stands; else $HOME/.kube/config.",
  subcommands,
});
