import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { print, printJson } from "#cli/print.ts";
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
    if (output === "json") printJson(facts);
    else if (output === "text")
      print(
        Object.entries(facts)
          .map(([name, value]) => `${name} ${value}`)
          .join("\n"),
      );
    else throw new UsageError(`version: unknown output "${output}"; use text or json`);
  },
};
