import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { isNotFound } from "#client/client.ts";
import type { Connection } from "#client/host/connect.ts";
import type { Place } from "#client/place.ts";
import type { Verdict } from "#observe/pod-reasons.ts";
import { answerText, explainOwner, explainPod, type Sources } from "#observe/why.ts";
import type { FailedAttempt } from "#scheduler/attempts.ts";
import { parseJson } from "#schema/json.ts";
import { connectionFlags, subjectOf, withCluster } from "../cluster-connection.ts";
import type { Command } from "../command.ts";
import { flagsHelp, parseFlags } from "../flags.ts";
import { writesOf } from "./trace.ts";

const flags = {
  ...connectionFlags,
  output: { type: "string", short: "o", value: "text|json", default: "text", help: "How to print the answer" },
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
        verdictsOn: (pod) => verdictsOn(connection, pod),
        now: () => systemClock.now(),
      };
      return kind === Pod ? explainPod(place, sources) : explainOwner(kind, place, sources);
    });
    if (settings.output === "json") console.log(JSON.stringify(answer, undefined, 2));
    else for (const line of answerText(answer, systemClock.now())) console.log(line);
  },
};

/** What the scheduler of the cluster's own process says; nothing where another one schedules. */
async function verdictsOn(connection: Connection, { namespace = "", name }: Place): Promise<readonly Verdict[]> {
  const text = await connection
    .read(`/knarr/v1/scheduling?${new URLSearchParams({ namespace, name })}`)
    .catch((error: unknown) => {
      if (isNotFound(error)) return "{}";
      throw error;
    });
  const { attempt } = parseJson(text).value as { readonly attempt?: FailedAttempt }; // our own server's answer
  return (attempt?.verdicts ?? []).map(({ node, plugin, reasons }) => ({ node, plugin, reason: reasons.join(", ") }));
}
