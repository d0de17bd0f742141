import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print, printJson } from "#cli/print.ts";
import type { Connection } from "#client/host/connect.ts";
import { resourceName } from "#client/object-key.ts";
import { milestones, type TraceStep, traceTree, withoutEvents } from "#observe/trace.ts";
import { milestonesText, stagesText, traceText } from "#observe/trace-text.ts";
import { parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import { connectionFlags, servedSubjectOf, withCluster } from "../cluster-connection.ts";

const flags = {
  ...connectionFlags,
  all: { type: "bool", default: false, help: "Show every write, events too, not only the first few of each sort" },
  output: { type: "string", short: "o", value: "text|json", default: "text", help: "How to print the writes" },
} as const;

export const trace: Command = {
  use: "trace KIND/NAME | TRACE-ID [FLAGS]",
  help: [
    "Every write to the object, what it was caused by, and what it caused in turn, with times: from the request over the",
    "controllers and the scheduler to the node, which tells when it made the sandbox, had the image, and started the containers,",
    "and on to the endpoints of services. A trace id is what the header traceparent of a request says.",
    "",
    "The server remembers the newest 20,000 writes since it started. What has no known cause stands at the left.",
    "",
    "Examples:",
    "  knarr trace deploy/web",
    "  knarr trace pod/web-0 -n shop --all",
    "  knarr trace svc/web -o json",
    "",
    "It ends with 0 if there is something to show, 1 if not, 2 if it was called wrongly.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    if (!["text", "json"].includes(settings.output))
      throw new UsageError(`trace: unknown output ${JSON.stringify(settings.output)}; use text or json`);
    const isRequest = rest.length === 1 && /^[0-9a-f]{32}$/.test(rest[0] ?? "");
    const writes = await withCluster(settings, async (connection) => {
      if (isRequest) return readWrites(connection, `/knarr/v1/trace/${rest[0]}`);
      const { kind, name } = await servedSubjectOf(rest, connection);
      return writesOf(connection, kind, { namespace: settings.namespace ?? connection.namespace, name });
    });
    const reached = milestones(writes);
    if (settings.output === "json") return printJson({ writes, milestones: reached, tree: treeOf(traceTree(writes)) });
    const [first] = writes;
    if (!first)
      throw new Error(
        `${rest.join(" ")}: no write to it is remembered: it was not changed since the server started, or does not exist`,
      );
    const shown = settings.all ? writes : withoutEvents(writes);
    const lines = traceText(traceTree(shown), { alike: settings.all ? Number.POSITIVE_INFINITY : 3 });
    print(lines.join("\n"));
    if (reached.length > 1) print(`\nHow far its pods got:\n${milestonesText(reached, first.at).join("\n")}`);
    const stages = stagesText(first);
    if (stages) print(`\nThe first request spent its time in ${stages}.`);
  },
};

/** The tree of causes, without the writes themselves, which are listed separately. */
const treeOf = (steps: readonly TraceStep[]): readonly object[] =>
  steps.map(({ write, effects }) => ({ revision: write.revision, effects: treeOf(effects) }));

/** The server's memory of an object. */
export function writesOf(
  connection: Connection,
  kind: AnyKind,
  { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
): Promise<readonly WriteRecord[]> {
  const query = new URLSearchParams({ resource: resourceName(kind), name });
  if (kind.scope === "Namespaced" && namespace) query.set("namespace", namespace);
  return readWrites(connection, `/knarr/v1/trace?${query}`);
}

async function readWrites(connection: Connection, path: string): Promise<readonly WriteRecord[]> {
  const { value } = parseJson(await connection.read(path));
  return (value as { readonly writes: readonly WriteRecord[] }).writes; // our own server's answer
}
