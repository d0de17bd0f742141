// Upstream: kubectl/pkg/cmd/kuberc.
import { command } from "../../command.ts";

export const kuberc = command({
  use: "kuberc SUBCOMMAND",
  long: "Read and change the file of your preferences ($HOME/.kube/kuberc): aliases of commands, other defaults of flags, and which credential plugins may run.",
  examples: `# What is in it
kubectl kuberc view

# get shows more columns, unless told otherwise
kubectl kuberc set --section defaults --command get --option output=wide`,
  subcommands: [
    { name: "set", short: "Set a value in the file", load: async () => (await import("./set.ts")).set },
    { name: "view", short: "Print the file", load: async () => (await import("./view.ts")).view },
  ],
});
