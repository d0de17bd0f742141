import type { Command } from "#cli/command.ts";
import { kubectl as runKubectl } from "#kubectl/main.ts";
import { processIo } from "#kubectl/process-io.ts";

export const kubectl: Command = {
  use: "kubectl COMMAND [ARGUMENTS]",
  run: (args) => runKubectl(args, processIo()),
};
