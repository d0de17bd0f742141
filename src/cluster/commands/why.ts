import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { answerText, explainOwner, explainPod, type Sources } from "#observe/why.ts";
import { connectionFlags, subjectOf, withCluster } from "../cluster-connection.ts";
import type { Command } from "../command.ts";
import { flagsHelp, parseFlags } from "../flags.ts";
import { writesOf } from "./trace.ts";

const flags = {
  ...connectionFlags,
  output: { type: "string", value: "text|json", default: "text", help: "How to print the answer" },
} as const;

export const why: Command = {
  use: "why KIND/NAME [FLAGS]",
  help: [
    "Why a pod, or something that makes pods, is in the state it is in: what it waits for, what put it there, and what can be",
    "done about it.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    if (!["text", "json"].includes(settings.output))
      throw new UsageError(`why: unknown output ${JSON.stringify(settings.output)}; use text or json`);
    const { kind, name } = subjectOf(rest);
    const answer = await withCluster(settings, (connection) => {
      const place = {
        name,
        ...(kind.scope === "Namespaced" && { namespace: settings.namespace ?? connection.namespace }),
      };
      const sources: Sources = {
        client: connection.client,
        writesOf: (of, at) => writesOf(connection, of, at),
        verdictsOn: async () => [],
        now: () => systemClock.now(),
      };
      return kind === Pod ? explainPod(place, sources) : explainOwner(kind, place, sources);
    });
    if (settings.output === "json") console.log(JSON.stringify(answer, undefined, 2));
    else for (const line of answerText(answer, systemClock.now())) console.log(line);
  },
};
