import { command } from "../../command.ts";
import { dryRunOf } from "../../write-options.ts";
import { cordon as cordonNodes, nodeFlags, nodesFor } from "./nodes.ts";

const cordonCommand = (name: string, isWanted: boolean, long: string) =>
  command({
    use: `${name} NODE`,
    long,
    examples: `# The node worker-1\nkubectl ${name} worker-1`,
    flags: nodeFlags,
    async run(session, args, flags, { changed, commandPath }) {
      const usage = { use: `${name} NODE`, commandPath, isSelected: changed.has("selector") };
      const dryRun = dryRunOf(session, flags["dry-run"]);
      await cordonNodes(session, await nodesFor(session, args, flags.selector, usage), isWanted, dryRun);
    },
  });

export const cordon = cordonCommand("cordon", true, "Mark nodes as unschedulable: they get no new pods.");
export const uncordon = cordonCommand("uncordon", false, "Mark nodes as schedulable: they get new pods again.");
