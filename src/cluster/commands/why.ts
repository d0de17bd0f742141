import { systemClock } from "#base/clock.ts";
import { ApiError, UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { printJson, printPainted } from "#cli/print.ts";
import { hasColours } from "#cli/terminal.ts";
import type { Connection } from "#client/host/connect.ts";
import type { ObjectKey } from "#client/object-key.ts";
import type { Sources } from "#observe/facts.ts";
import { wishIn } from "#observe/reasons/forbidden.ts";
import type { PodVerdict } from "#observe/reasons/pod-facts.ts";
import { explain, explainRefusal } from "#observe/why.ts";
import { answerText, coloured, plain } from "#observe/why-text.ts";
import type { FailedAttempt } from "#scheduler/attempts.ts";
import { parseJson } from "#schema/json.ts";
import { connectionFlags, servedSubjectOf, withCluster } from "../cluster-connection.ts";
import { writesOf } from "./trace.ts";

const flags = {
  ...connectionFlags,
  output: { type: "string", short: "o", value: "text|json", default: "text", help: "How to print the answer" },
} as const;

/** As an exit code: the object is not as it should be. */
const somethingIsWrong = 3;

export const why: Command = {
  use: "why KIND/NAME | REFUSAL [FLAGS]",
  help: [
    "What state an object is in, since when and who says so (conditions, events, the scheduler's verdict on each node, the last",
    "lines of a log), what put it there, and what can be done about it. It knows pods and what makes pods (Deployments,",
    "ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs: pods with the same trouble are told together), Services,",
    "PersistentVolumeClaims, Nodes and Namespaces; of other kinds it tells their conditions, and what keeps them from going away.",
    "",
    "A refusal is what the server says to someone who may not do something, as it stands: the answer is which role lacks what,",
    "and how to give it.",
    "",
    "It only reads, and only through the API.",
    "",
    "Examples:",
    "  knarr why pod/web-0",
    "  knarr why deploy/web -n shop",
    "  knarr why svc web -o json",
    '  knarr why \'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "shop"\'',
    "",
    "It ends with 0 if the object is fine or on its way, 3 if something is wrong with it, 1 if there is no answer (no such object,",
    "no connection), 2 if it was called wrongly.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    if (!["text", "json"].includes(settings.output))
      throw new UsageError(`why: unknown output ${JSON.stringify(settings.output)}; use text or json`);
    const wish = wishIn(rest.join(" "));
    const answer = await withCluster(settings, async (connection) => {
      if (wish) return explainRefusal(wish, sourcesOf(connection));
      const { kind, name } = await servedSubjectOf(rest, connection);
      const namespace = settings.namespace ?? connection.namespace;
      return explain(kind, { name, ...(kind.scope === "Namespaced" && { namespace }) }, sourcesOf(connection));
    });
    if (settings.output === "json") printJson(answer);
    else
      printPainted(answerText(answer, systemClock.now(), hasColours(process.stdout, process.env) ? coloured : plain));
    return answer.reason.state === "wrong" ? somethingIsWrong : 0;
  },
};

const sourcesOf = (connection: Connection): Sources => ({
  client: connection.client,
  // Another server than ours has no such memory, and not everybody may look into ours.
  writesOf: (kind, place) => writesOf(connection, kind, place).catch(nothingIfUnanswered([])),
  verdictsOn: (pod) => verdictsOn(connection, pod),
  lastLines: (pod, container) => lastLines(connection, pod, container),
  now: () => systemClock.now(),
});

const nothingIfUnanswered =
  <T>(nothing: T) =>
  (error: unknown): T => {
    if (error instanceof ApiError) return nothing;
    throw error;
  };

/** What the scheduler of the cluster's own process says; nothing where another one schedules. */
async function verdictsOn(connection: Connection, { namespace = "", name }: ObjectKey): Promise<readonly PodVerdict[]> {
  const text = await connection
    .read(`/knarr/v1/scheduling?${new URLSearchParams({ namespace, name })}`)
    .catch(nothingIfUnanswered("{}"));
  const { attempt } = parseJson(text).value as { readonly attempt?: FailedAttempt }; // our own server's answer
  return (attempt?.verdicts ?? []).map(({ node, plugin, reasons }) => ({ node, plugin, reason: reasons.join(", ") }));
}

const logLines = 5;

async function lastLines(
  connection: Connection,
  { namespace = "", name }: ObjectKey,
  container: string,
): Promise<readonly string[]> {
  const query = new URLSearchParams({ container, tailLines: String(logLines) });
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log?${query}`;
  const text = await connection.read(path).catch(nothingIfUnanswered(""));
  return text.split(/\r?\n/).filter((line) => line !== "");
}
