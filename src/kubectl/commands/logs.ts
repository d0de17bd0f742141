// Upstream: kubectl/pkg/cmd/logs/logs.go.
import { ApiError, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { command } from "../command.ts";
import { KubectlError, usageError } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { written } from "../io.ts";
import { metadataOf, resourcePath, stringIn } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Query } from "../rest/request.ts";
import type { Session } from "../session.ts";
import {
  byActivity,
  chooseContainer,
  containersOf,
  podFor,
  podMapping,
  podSelectorOf,
  podsOf,
} from "../workloads/pods.ts";
import type { FollowedLog } from "./logs-follow.ts";

const flags = {
  "all-containers": { type: "bool", help: "Logs of all containers of the pods." },
  "all-pods": { type: "bool", help: "Logs of all pods of the workload; sets --prefix." },
  container: { type: "string", short: "c", help: "Logs of this container." },
  follow: { type: "bool", short: "f", help: "Go on as more is logged." },
  "ignore-errors": { type: "bool", help: "Go on after an error." },
  "insecure-skip-tls-verify-backend": {
    type: "bool",
    help: "Do not check who the kubelet is that the logs come from.",
  },
  "limit-bytes": { type: "int", help: "At most so many bytes; no limit unless given." },
  "max-log-requests": { type: "int", default: 5, help: "How many logs may be followed at once." },
  "pod-running-timeout": { type: "duration", default: "20s", help: "How long to wait for a pod." },
  prefix: { type: "bool", help: "Begin each line with the pod and container it is from." },
  previous: { type: "bool", short: "p", help: "Logs of the container before it was started again." },
  selector: { type: "string", short: "l", help: "Logs of pods with labels like this." },
  since: { type: "duration", help: "Only what is newer than this, such as 5s, 2m or 3h." },
  "since-time": { type: "string", help: "Only what was logged after this time (RFC 3339)." },
  tail: { type: "int", default: -1, help: "Only so many last lines; all unless given, 10 with a selector." },
  timestamps: { type: "bool", help: "Show when each line was logged." },
} as const satisfies FlagDeclarations;
type LogFlags = ParsedFlags<typeof flags>;

const usage =
  "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command";
const selectorTail = 10;

interface LogRequest {
  readonly path: string;
  readonly query: Query;
  readonly pod: KubeObject;
  readonly container: string;
}

export const logs = command({
  use: "logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]",
  long: "Print the logs of a container in a pod, or of a workload.",
  examples: `# Logs of a pod with one container
kubectl logs web

# Logs of all containers of pods with a label
kubectl logs -l app=web --all-containers

# Follow the logs of a deployment, also when its pods are replaced
kubectl logs -f deployment/web

# Those of all its pods, each line with where it is from
kubectl logs -f deployment/web --all-pods`,
  flags,
  async run(session, args, flags, { changed, commandPath }) {
    if (args.length > 2 || (args.length === 0 && flags.selector === "")) throw usageError(usage, commandPath);
    if (args.length === 1 && flags.selector !== "")
      throw usageError("only a selector (-l) or a POD name is allowed", commandPath);
    if (flags["pod-running-timeout"] <= 0n) throw new KubectlError("--pod-running-timeout must be higher than zero");
    const container = args[1] ?? flags.container;
    const query = logQuery(flags, changed);
    const object = await subject(session, args[0], flags.selector);
    validate(flags, container, args.length === 2 && changed.has("container"));
    const chosen = { ...flags, container };
    const requests = await requestsFor(session, object, chosen, query);
    if (!flags.follow) {
      for (const request of requests) await printLog(session, request, flags);
      return;
    }
    const most = flags["max-log-requests"];
    if (requests.length > most && requests.length > 1)
      throw new KubectlError(
        `you are attempting to follow ${requests.length} log streams, but maximum allowed concurrency is ${most}, use --max-log-requests to increase the limit`,
      );
    await follow(session, object, chosen, requests, query);
  },
});

/** Pods of these are replaced for as long as the workload is there. */
const endlessKinds = ["DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "Service", "StatefulSet"];

async function follow(
  session: Session,
  object: KubeObject,
  flags: LogFlags,
  requests: readonly LogRequest[],
  query: Query,
): Promise<void> {
  const isList = Array.isArray(object.items);
  const isEndless = endlessKinds.includes(stringIn(object.kind));
  const copyOf = (request: LogRequest): FollowedLog => ({
    pod: request.pod,
    container: request.container,
    copy: () => printLog(session, request, flags),
  });
  // A pod, and what ends by itself, is followed to its end, as ever.
  if (!isList && !isEndless) {
    await Promise.all(requests.map((request) => copyOf(request).copy()));
    return;
  }
  const { followLogs } = await import("./logs-follow.ts");
  await followLogs(session, {
    namespace: isList ? await session.namespace() : stringIn(metadataOf(object).namespace),
    labelSelector: isList ? flags.selector : selectorOf(object),
    isEndless,
    isSingle: !isList && !flags["all-pods"] && requests.length === 1,
    most: flags["max-log-requests"],
    first: requests.map(copyOf),
    logsOf: (pod) => podRequests(session, pod, flags, newQuery(query), true).map(copyOf),
  });
}

/** Of what is new, everything is new. */
const newQuery = (query: Query): Query => query.filter(([name]) => !["tailLines", "sinceSeconds"].includes(name));

function logQuery(flags: LogFlags, changed: ReadonlySet<string>): Query {
  const { since, "since-time": sinceTime, "limit-bytes": limit, tail } = flags;
  const lines = flags.selector !== "" && tail === -1 && !changed.has("tail") ? selectorTail : tail;
  if (sinceTime !== "" && Number.isNaN(Date.parse(sinceTime)))
    throw new KubectlError(
      `parsing time ${JSON.stringify(sinceTime)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(sinceTime)} as "2006"`,
    );
  return [
    ...(flags.follow ? [["follow", "true"] as const] : []),
    ...(flags["insecure-skip-tls-verify-backend"] ? [["insecureSkipTLSVerifyBackend", "true"] as const] : []),
    ...(limit === 0 ? [] : [["limitBytes", String(limit)] as const]),
    ...(flags.previous ? [["previous", "true"] as const] : []),
    ...(since === 0n ? [] : [["sinceSeconds", String(Math.round(Number(since) / 1e9))] as const]),
    ...(sinceTime === "" ? [] : [["sinceTime", sinceTime] as const]),
    ...(lines === -1 ? [] : [["tailLines", String(lines)] as const]),
    ...(flags.timestamps ? [["timestamps", "true"] as const] : []),
  ];
}

async function subject(session: Session, name: string | undefined, selector: string): Promise<KubeObject> {
  const options =
    name === undefined ? { args: ["pods"], labelSelector: selector } : { args: [name], defaultType: "pods" };
  const query = await ResourceQuery.of(session, { ...options, singleResourceType: true });
  try {
    const [info] = await query.infos();
    if (!info?.object) throw new KubectlError("expected a resource");
    const { items } = info.object;
    if (Array.isArray(items) && items.length === 0)
      session.printError(`No resources found in ${await session.namespace()} namespace.`);
    return info.object;
  } catch (error) {
    if (!(error instanceof ApiError) || !isNotFound(error)) throw error;
    const message = `error from server (NotFound): ${error.message} in namespace ${JSON.stringify(await session.namespace())}`;
    throw new KubectlError(message, { cause: error });
  }
}

function validate(flags: LogFlags, container: string, isTwice: boolean): void {
  if (flags["since-time"] !== "" && flags.since !== 0n)
    throw new KubectlError("at most one of `sinceTime` or `sinceSeconds` may be specified");
  if (flags["all-containers"] && container !== "")
    throw new KubectlError(`--all-containers=true should not be specified with container name ${container}`);
  if (isTwice) throw new KubectlError("only one of -c or an inline [CONTAINER] arg is allowed");
  if (flags["limit-bytes"] < 0) throw new KubectlError("--limit-bytes must be greater than 0");
  if (flags.since < 0n) throw new KubectlError("--since must be greater than 0");
  if (flags.tail < -1) throw new KubectlError("--tail must be greater than or equal to -1");
}

async function requestsFor(
  session: Session,
  object: KubeObject,
  flags: LogFlags,
  query: Query,
): Promise<readonly LogRequest[]> {
  if (Array.isArray(object.items)) {
    const pods = object.items.filter(isObject);
    return pods.flatMap((pod) => podRequests(session, pod as KubeObject, flags, query));
  }
  if (object.kind === "Pod") return podRequests(session, object, flags, query);
  const pods = await podsOf(session, stringIn(metadataOf(object).namespace), selectorOf(object));
  const pod = await podFor(session, object, Number(flags["pod-running-timeout"]) / 1e6);
  if (pods.length > 1 && flags["all-pods"])
    return pods.toSorted(byActivity).flatMap((one) => podRequests(session, one, flags, query));
  if (pods.length > 1) session.printError(`Found ${pods.length} pods, using pod/${metadataOf(pod).name}`);
  return podRequests(session, pod, flags, query);
}

function selectorOf(object: KubeObject): string {
  try {
    return podSelectorOf(object);
  } catch (cause) {
    if (!(cause instanceof KubectlError)) throw cause;
    throw new KubectlError(`cannot get the logs from *v1.${object.kind}: ${cause.message}`, { cause });
  }
}

function podRequests(
  session: Session,
  pod: KubeObject,
  flags: LogFlags,
  query: Query,
  isQuiet = false,
): readonly LogRequest[] {
  const { name, namespace } = metadataOf(pod);
  const path = resourcePath(podMapping, stringIn(namespace), stringIn(name), "log");
  const order = ["initContainers", "containers", "ephemeralContainers"];
  const containers = flags["all-containers"]
    ? containersOf(pod).toSorted((a, b) => order.indexOf(a.list) - order.indexOf(b.list))
    : [chooseContainer(session, pod, flags.container, isQuiet || flags["all-pods"])];
  return containers.map((container) => ({
    path,
    query: [["container", container.name], ...query],
    pod,
    container: container.name,
  }));
}

async function printLog(session: Session, request: LogRequest, flags: LogFlags): Promise<void> {
  const { path, query, pod, container } = request;
  const hasPrefix = flags.prefix || flags["all-pods"];
  const prefix = Buffer.from(hasPrefix ? `[pod/${metadataOf(pod).name}/${container}] ` : "");
  const { stdout } = session.io;
  try {
    const { body } = await (await session.client()).open({ path, query, isEndless: true });
    // Lines of several logs are not mixed; a single log is passed on as it comes.
    const isMixed = hasPrefix || (flags.follow && (flags["all-containers"] || flags.selector !== ""));
    if (!isMixed) for await (const chunk of body) await written(stdout, chunk);
    else for await (const lines of wholeLines(body)) await written(stdout, prefixed(lines, prefix));
  } catch (error) {
    if (!flags["ignore-errors"] || !(error instanceof Error) || session.io.signal.aborted) throw error;
    session.print(`error: ${error.message}`);
  }
}

/** Longer lines are passed on in parts. */
const lineLimit = 1024 * 1024;

/** What comes, cut at the ends of lines; the last may have none. */
async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = all.length > lineLimit ? all.length : all.lastIndexOf(10) + 1;
    if (end > 0) yield all.subarray(0, end);
    rest = all.subarray(end);
  }
  if (rest.length > 0) yield rest;
}

function prefixed(lines: Uint8Array, prefix: Uint8Array): Uint8Array {
  if (prefix.length === 0) return lines;
  const parts: Uint8Array[] = [];
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf(10, at);
    const next = end < 0 ? lines.length : end + 1;
    parts.push(prefix, lines.subarray(at, next));
    at = next;
  }
  return Buffer.concat(parts);
}
