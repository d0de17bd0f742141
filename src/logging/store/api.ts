// The HTTP API of the store, as an aggregated API of the cluster. Lines are no objects: they are searched, and collectors add to them.
//
//   GET  /apis/logs.knarr.dev/v1alpha1/namespaces/NAMESPACE/lines    search; takes the right to get pods/log there
//   GET  /apis/logs.knarr.dev/v1alpha1/lines                         the same in all namespaces
//   POST /apis/logs.knarr.dev/v1alpha1/lines                         add; takes the right to create lines
import { ApiError } from "#base/errors.ts";
import type { Counter, MetricFamily, MetricRegistry } from "#base/metrics.ts";
import { decodeUtf8 } from "#schema/json.ts";
import { permit } from "#serving/authorization.ts";
import type { Delegation } from "#serving/delegated-access.ts";
import { type HttpHandler, type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";
import { internalError, statusOf, unknownPath } from "#wire/status.ts";
import { formatNanoTime } from "../nanos.ts";
import { type LineBatch, parseBatch } from "./batch.ts";
import { formatMoment, formatPlace } from "./place.ts";
import { formatContinue, type LineQuery, parseQuery } from "./query.ts";
import type { FoundLine, SearchResult } from "./search.ts";

export const logsGroup = "logs.knarr.dev";
export const logsVersion = "v1alpha1";
const apiVersion = `${logsGroup}/${logsVersion}`;
export const logsRoot = `/apis/${apiVersion}`;
/** Name of the object that leads requests to the store. */
export const logsApiService = `${logsVersion}.${logsGroup}`;
/** Where lines of a namespace, or of all, are searched. */
export const linesPath = (namespace: string | undefined): string =>
  namespace === undefined ? `${logsRoot}/lines` : `${logsRoot}/namespaces/${encodeURIComponent(namespace)}/lines`;

/** A line as it is told. */
export interface ToldLine {
  readonly time: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly attempt: number;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  readonly isCut?: true;
}

export interface LineList {
  readonly kind: "LineList";
  readonly apiVersion: string;
  readonly lines: readonly ToldLine[];
  /** Parameter of the same name for the next page; none after the last one. */
  readonly continue?: string;
  /** Parameter `from` for those who want to follow what comes after this search. */
  readonly end: string;
}

export interface LineStore {
  append(batch: LineBatch): Promise<{ readonly stored: number; readonly known: number }>;
  search(query: LineQuery, signal: AbortSignal): Promise<SearchResult>;
}

export interface LogApiOptions {
  readonly store: LineStore;
  readonly access: () => Delegation;
  readonly metrics: MetricRegistry;
  /** Told what went wrong that is nobody's fault outside. */
  readonly failed: (error: unknown) => void;
}

/** More at once would only make each of them slower. */
const searchesAtOnce = 4;

export function logApi({ store, access, metrics, failed }: LogApiOptions): HttpHandler {
  const counters = countersIn(metrics);
  let searching = 0;
  const searchLines = async (request: HttpRequest, namespace: string | undefined): Promise<HttpResponse> => {
    await mayRead(access(), request, namespace);
    const query = parseQuery(request.query, namespace);
    if (searching >= searchesAtOnce) throw busy();
    searching++;
    try {
      counters.searches.of().add();
      return json(200, listOf(await store.search(query, request.signal), query));
    } finally {
      searching--;
    }
  };
  const addLines = async (request: HttpRequest): Promise<HttpResponse> => {
    await mayAdd(access(), request);
    const result = await store.append(parseBatch(decodeUtf8(await request.body())));
    counters.stored.of().add(result.stored);
    counters.known.of().add(result.known);
    return json(201, result);
  };
  const route = async (request: HttpRequest): Promise<HttpResponse> => {
    const { method, path } = request;
    if (!path.startsWith(logsRoot)) throw unknownPath();
    const rest = path.slice(logsRoot.length);
    if (method === "GET" && (rest === "" || rest === "/")) return json(200, resourceList);
    if (rest === "/lines" && method === "POST") return addLines(request);
    const [, encoded] = /^\/namespaces\/([^/]+)\/lines$/.exec(rest) ?? [];
    if (method !== "GET" || (encoded === undefined && rest !== "/lines")) throw unknownPath();
    return searchLines(request, encoded === undefined ? undefined : decodedName(encoded));
  };
  return async (request) => {
    try {
      return await route(request);
    } catch (error) {
      if (!(error instanceof ApiError)) failed(error);
      const refusal = error instanceof ApiError ? error : internalError("the log store failed");
      return json(refusal.code, statusOf(refusal));
    }
  };
}

function decodedName(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw unknownPath(); // what is escaped wrongly names nothing
  }
}

/** Lines cannot be listed or deleted as objects can, so clients that look for objects find none here. */
const resourceList = { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersion, resources: [] };

/** Whoever may get the log of a pod may search what it wrote, also when the pod is gone. */
async function mayRead({ identify, authorize }: Delegation, request: HttpRequest, namespace = ""): Promise<void> {
  const user = await identify(request);
  const name = request.query.get("pod") ?? "";
  const address = { group: "", version: "v1", resource: "pods", subresource: "log", namespace, name };
  const resourceAttributes = { verb: "get", ...address };
  const ask = () => authorize(user, { resourceAttributes });
  await permit(ask, { type: "resource", user, verb: "get", ...address });
}

async function mayAdd({ identify, authorize }: Delegation, request: HttpRequest): Promise<void> {
  const user = await identify(request);
  const address = { group: logsGroup, version: logsVersion, resource: "lines" };
  const ask = () => authorize(user, { resourceAttributes: { verb: "create", ...address } });
  await permit(ask, { type: "resource", user, verb: "create", ...address });
}

function listOf({ lines, isLimited, end }: SearchResult, query: LineQuery): LineList {
  const last = lines.at(-1);
  const hasNext = isLimited && query.order === "first" && last;
  return {
    kind: "LineList",
    apiVersion,
    lines: lines.map(toldLine),
    ...(hasNext && { continue: formatContinue(formatMoment(last.moment), end) }),
    end: formatPlace(end),
  };
}

function toldLine({ line, source, text }: FoundLine): ToldLine {
  const { epoch: _, ...place } = source;
  return {
    time: formatNanoTime(line),
    ...place,
    stream: line.isStderr ? "stderr" : "stdout",
    text,
    ...(line.isCut && { isCut: true }),
  };
}

const json = (code: number, value: unknown): HttpResponse => ({
  code,
  headers: { "content-type": "application/json", ...uncached },
  body: `${JSON.stringify(value)}\n`,
});

const busy = (): ApiError =>
  new ApiError({
    code: 429,
    reason: "TooManyRequests",
    message: `${searchesAtOnce} searches are under way; try again in a moment`,
    details: { retryAfterSeconds: 1 },
  });

function countersIn(metrics: MetricRegistry): Readonly<Record<"stored" | "known" | "searches", MetricFamily<Counter>>> {
  const counter = (name: string, help: string) => metrics.counter({ name: `knarr_log_store_${name}`, help });
  return {
    stored: counter("stored_lines_total", "Lines that were put on disk."),
    known: counter("repeated_lines_total", "Lines that came again and were passed over."),
    searches: counter("searches_total", "Searches."),
  };
}
