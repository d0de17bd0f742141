// Upstream: kubectl/pkg/cmd/events.
import { humanDuration } from "#base/duration.ts";
import { isObject } from "#base/is-object.ts";
import { command } from "../command.ts";
import { apiVersionOf } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { outputPrinter, printFlags } from "../printers/output.ts";
import { escapeTerminal } from "../printers/printer.ts";
import { listPages } from "../resources/list-pages.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import { watchResource } from "../resources/watch-resource.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { TabWriter, tableColumns } from "../tab-writer.ts";

const eventMapping = {
  group: "",
  version: "v1",
  resource: "events",
  singular: "event",
  kind: "Event",
  isNamespaced: true,
  verbs: [],
} as const;
const chunkSize = 500;

const flags = {
  ...printFlags,
  "all-namespaces": { type: "bool", short: "A", help: "Events of all namespaces." },
  "chunk-size": { type: "int", default: chunkSize, help: "Events per request of a large list." },
  for: { type: "string", help: "Only events of this object, as TYPE/NAME." },
  "no-headers": { type: "bool", help: "Leave out the headers." },
  types: { type: "stringSlice", help: "Only events of these types: Normal, Warning." },
  watch: { type: "bool", short: "w", help: "Show events as they happen." },
} as const satisfies FlagDeclarations;
type EventFlags = ParsedFlags<typeof flags>;

export const events = command({
  use: "events [(-o|--output=)json|yaml|kyaml|name|go-template|go-template-file|template|templatefile|jsonpath|jsonpath-as-json|jsonpath-file] [--for TYPE/NAME] [--watch] [--types=Normal,Warning]",
  long: "Display events, the newest last.",
  examples: `# Events of the namespace
kubectl events

# Warnings of one pod, as they happen
kubectl events --for pod/web --types=Warning --watch`,
  flags,
  async run(session, _args, flags) {
    const fieldSelector = await selectorFor(session, flags.for);
    if (flags.types.some((type) => !["normal", "warning"].includes(type.toLowerCase())))
      throw new KubectlError("valid --types are Normal or Warning");
    const namespace = flags["all-namespaces"] ? "" : await session.namespace();
    const request = { mapping: eventMapping, namespace, fieldSelector, chunkSize };
    const print = printerFor(session, flags);
    const isWanted = (event: KubeObject) =>
      flags.types.length === 0 || flags.types.some((type) => type.toLowerCase() === stringIn(event.type).toLowerCase());
    const client = await session.client();
    if (flags.watch) {
      for await (const { type, object } of watchResource(client, { ...request, query: [["limit", String(chunkSize)]] }))
        if (type !== "DELETED" && type !== "ERROR" && isWanted(object)) print([object], object);
      return;
    }
    const found: KubeObject[] = [];
    for await (const { items } of listPages(client, request))
      found.push(
        ...(Array.isArray(items) ? items : [])
          .filter(isObject)
          .map((item) => ({ kind: "Event", apiVersion: "v1", ...item })),
      );
    const wanted = found.filter(isWanted);
    if (wanted.length === 0) {
      session.printError(flags["all-namespaces"] ? "No events found." : `No events found in ${namespace} namespace.`);
      return;
    }
    const sorted = wanted.toSorted((a, b) => timeOf(a) - timeOf(b));
    print(sorted, { kind: "EventList", apiVersion: "v1", metadata: {}, items: sorted });
  },
});

async function selectorFor(session: Session, text: string): Promise<string> {
  if (text === "") return "";
  const [type = "", name = "", ...rest] = text.split("/");
  if (!text.includes("/")) throw new KubectlError("--for must be in resource/name form");
  if (rest.length > 0) throw new KubectlError("arguments in resource/name form may not have more than one slash");
  const mapping = await (await session.mapper()).resourceFor(type);
  return `involvedObject.kind=${mapping.kind},involvedObject.apiVersion=${apiVersionOf(mapping)},involvedObject.name=${name}`;
}

/** Called with the events, and with the object that stands for them in formats for programs. */
function printerFor(session: Session, flags: EventFlags): (events: readonly KubeObject[], whole: KubeObject) => void {
  if (flags.output !== "") {
    const printer = outputPrinter(flags, { operation: "", cwd: session.io.cwd });
    return (_, whole) => printer.print(whole, (data) => session.io.stdout.write(data));
  }
  const writer = new TabWriter((text) => session.io.stdout.write(text), tableColumns);
  const withNamespace = flags["all-namespaces"];
  let hasHeader = flags["no-headers"];
  return (list) => {
    if (!hasHeader) writer.write(`${withNamespace ? "NAMESPACE\t" : ""}LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n`);
    hasHeader = true;
    for (const event of list) writer.write(`${rowOf(event, withNamespace, session.io.clock.now()).join("\t")}\n`);
    writer.flush();
  };
}

function rowOf(event: KubeObject, withNamespace: boolean, now: number): readonly string[] {
  const about = isObject(event.involvedObject) ? event.involvedObject : {};
  const shown = (value: unknown) => escapeTerminal(stringIn(value));
  return [
    ...(withNamespace ? [stringIn(metadataOf(event).namespace)] : []),
    intervalOf(event, now),
    shown(event.type),
    shown(event.reason),
    `${shown(about.kind)}/${shown(about.name)}`,
    shown(event.message).trim(),
  ];
}

function intervalOf({ eventTime, firstTimestamp, lastTimestamp, series, count }: KubeObject, now: number): string {
  const since = (value: unknown) =>
    stringIn(value) === "" ? "<unknown>" : humanDuration(now - Date.parse(stringIn(value)));
  const first = since(stringIn(eventTime) === "" ? firstTimestamp : eventTime);
  if (isObject(series)) return `${since(series.lastObservedTime)} (x${series.count} over ${first})`;
  return typeof count === "number" && count > 1 ? `${since(lastTimestamp)} (x${count} over ${first})` : first;
}

function timeOf({ series, lastTimestamp, eventTime }: KubeObject): number {
  const text = isObject(series) ? series.lastObservedTime : stringIn(lastTimestamp) || eventTime;
  return Date.parse(stringIn(text)) || 0;
}
