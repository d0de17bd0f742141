import { UsageError } from "#base/errors.ts";
import type { Command } from "../command.ts";
import { knarrVersion, kubernetesVersion } from "../version.ts";

export const version: Command = {
  use: "version [--output=text|json]",
  async run(args) {
    const facts = {
      knarr: knarrVersion,
      kubernetes: kubernetesVersion,
      node: process.version,
      platform: `${process.platform}/${process.arch}`,
    };
    const output = args.join(" ").replace(/^(-o ?|--output[= ])/, "") || "text";
    if (output === "json") console.log(JSON.stringify(facts, undefined, 2));
    else if (output === "text")
      console.log(
        Object.entries(facts)
          .map(([name, value]) => `${name} ${value}`)
          .join("\n"),
      );
    else throw new UsageError(`version: unknown output "${output}"; use text or json`);
  },
};
