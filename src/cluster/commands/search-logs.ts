// Asks the store of the cluster's logs, page by page, and goes on asking for what comes if that is wanted.
import { systemClock } from "#base/clock.ts";
import { ApiError, UsageError } from "#base/errors.ts";
import { delayFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import type { Connection } from "#client/host/connect.ts";
import { type LineList, linesPath, type ToldLine } from "#logging/store/api.ts";
import { mostLines } from "#logging/store/query.ts";
import { parseJson } from "#schema/json.ts";
import { parseTime, TimeError, timeOf } from "#schema/time.ts";
import { connectionFlags, withCluster } from "../cluster-connection.ts";

export const searchFlags = {
  kubeconfig: connectionFlags.kubeconfig,
  context: connectionFlags.context,
  namespace: { ...connectionFlags.namespace, help: "Namespace of the pods; defaults to the context's" },
  "all-namespaces": { type: "bool", short: "A", default: false, help: "Pods of all namespaces" },
  pods: { type: "string", short: "l", value: "SELECTOR", help: "Pods with such labels, as in app=web,tier!=db" },
  pod: { type: "string", value: "NAME", help: "The pod of that name" },
  container: { type: "string", short: "c", value: "NAME", help: "Containers of that name" },
  node: { type: "string", value: "NAME", help: "Pods that ran on that node" },
  since: { type: "string", value: "DURATION|TIME", help: "Not older than this: 1h, or 2026-01-31T12:00:00Z" },
  until: { type: "string", value: "DURATION|TIME", help: "Older than this" },
  grep: { type: "string", value: "PATTERN", help: "Lines in which this regular expression (RE2) is found" },
} as const;

/** Those that by themselves mean a search. */
const searchingFlags = Object.keys(searchFlags) as (keyof typeof searchFlags)[];

type SearchSettings = FlagValues<typeof searchFlags> & {
  readonly name: string | undefined;
  readonly "data-dir": string | undefined;
  readonly follow: boolean;
  readonly tail: number;
  readonly output: string;
};

export const isSearch = (settings: SearchSettings): boolean =>
  searchingFlags.some((name) => settings[name] !== undefined && settings[name] !== false);

const followMs = 1000;

/** Throws UsageError for flags that contradict each other. */
export async function searchLogs(settings: SearchSettings): Promise<void> {
  if (settings.namespace !== undefined && settings["all-namespaces"])
    throw new UsageError("--namespace and --all-namespaces contradict each other");
  const parameters = parametersOf(settings);
  await withCluster(settings, async (connection) => {
    const namespace = settings["all-namespaces"] ? undefined : (settings.namespace ?? connection.namespace);
    const ask = (more: Readonly<Record<string, string>>) => page(connection, namespace, { ...parameters, ...more });
    const show = ({ lines }: LineList) => {
      const text = lines.map((line) => shown(line, settings)).join("\n");
      if (text !== "") print(text);
    };
    let last: LineList | undefined;
    if (settings.tail > mostLines) throw new UsageError(`--tail is at most ${mostLines}`);
    if (settings.tail >= 0) {
      last = await ask({ order: "last", limit: String(Math.max(1, settings.tail)) });
      if (settings.tail > 0) show(last);
    } else
      do {
        last = await ask(last?.continue === undefined ? {} : { continue: last.continue });
        show(last);
      } while (last.continue !== undefined);
    if (settings.follow) await follow(last, ask, show);
  });
}

/** Until the person has seen enough. */
async function follow(
  past: LineList,
  ask: (more: Readonly<Record<string, string>>) => Promise<LineList>,
  show: (list: LineList) => void,
): Promise<void> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  process.stdout.on("error", () => stop.abort()); // whoever read it has gone
  for (let from = past.end; ; ) {
    await systemClock.sleep(followMs, stop.signal).catch(() => undefined); // told to end
    if (stop.signal.aborted) return;
    const fresh = await ask({ order: "arrival", from }).catch(nothingWhileAway);
    if (!fresh) continue;
    show(fresh);
    from = fresh.end;
  }
}

/** A store that is replaced is back in a moment. */
const nothingWhileAway = (error: unknown): undefined => {
  if (error instanceof Unavailable || (error instanceof ApiError && error.code === 429)) return undefined;
  throw error;
};

class Unavailable extends Error {
  override readonly name = "Unavailable";
}

async function page(
  connection: Connection,
  namespace: string | undefined,
  parameters: Readonly<Record<string, string>>,
): Promise<LineList> {
  try {
    const text = await connection.read(`${linesPath(namespace)}?${new URLSearchParams(parameters)}`);
    return parseJson(text).value as LineList; // our own server's answer
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 404)
      throw new Error('this cluster keeps no logs of its pods; "knarr addon enable logs" has it do so');
    if (error.code === 503)
      throw new Unavailable('the store of the logs does not answer; "knarr addon list" says whether it is ready', {
        cause: error,
      });
    throw error;
  }
}

function parametersOf({ pods, pod, container, node, since, until, grep }: SearchSettings): Record<string, string> {
  const moment = (name: "since" | "until", text: string | undefined) => text && momentOf(name, text);
  const all = {
    podSelector: pods,
    ...{ pod, container, node, grep },
    since: moment("since", since),
    until: moment("until", until),
  };
  return Object.fromEntries(Object.entries(all).flatMap(([name, text]) => (text ? [[name, text]] : [])));
}

/** A time as it is, or so long ago. */
function momentOf(name: "since" | "until", text: string): string {
  try {
    parseTime(text);
    return text;
  } catch (error) {
    if (!(error instanceof TimeError)) throw error;
    return timeOf(systemClock.now() - delayFlag(name, text));
  }
}

function shown(line: ToldLine, settings: SearchSettings): string {
  if (settings.output === "json") return JSON.stringify(line);
  const { time, namespace, pod, container, text } = line;
  const place = [...(settings["all-namespaces"] ? [namespace] : []), pod, container].join("/");
  return `${time} ${place} ${text}`;
}
