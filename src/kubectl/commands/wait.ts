// Upstream: kubectl/pkg/cmd/wait.
import { isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { parseJsonPath, relaxedJsonPath } from "../printers/json-path.ts";
import { outputPrinter, printFlags } from "../printers/output.ts";
import { listPages } from "../resources/list-pages.ts";
import { infoPath, metadataOf, objectName, type ResourceInfo, stringIn } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import { watchResource } from "../resources/watch-resource.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { manifestFlags } from "../shared-flags.ts";
import { statusOf } from "../workloads/pods.ts";

const flags = {
  ...printFlags,
  ...manifestFlags("The manifests of the objects to wait for."),
  all: { type: "bool", help: "All objects of the type." },
  "all-namespaces": { type: "bool", short: "A", help: "Objects of all namespaces." },
  "field-selector": { type: "string", help: "Only objects whose fields are like this." },
  for: {
    type: "stringArray",
    help: "What to wait for: create, delete, condition=NAME[=VALUE] or jsonpath='{PATH}'[=VALUE].",
  },
  local: { type: "bool", help: "Ask no server." },
  selector: { type: "string", short: "l", help: "Only objects with labels like this." },
  timeout: { type: "duration", default: "30s", help: "How long to wait; 0 checks once, less waits for a week." },
} as const satisfies FlagDeclarations;

/** Whether an object is as it is waited for; undefined stands for an object that is gone. */
type Condition = (object: KubeObject | undefined) => boolean;

const weekMs = 7 * 24 * 3600 * 1000;
const pollMs = 500;

export const wait = command({
  use: "wait ([-f FILENAME] | resource.group/resource.name | resource.group [(-l label | --all)]) [--for=create|--for=delete|--for condition=available|--for=jsonpath='{}'[=value]]",
  long: "Wait for one or many objects to be created, deleted, or in a state.",
  examples: `# Wait until a pod is ready
kubectl wait --for=condition=Ready pod/web

# Wait until a job has ended
kubectl wait --for=jsonpath='{.status.succeeded}'=1 job/once --timeout=2m

# Wait until a pod is gone
kubectl wait --for=delete pod/web`,
  flags,
  async run(session, args, flags) {
    const printer = outputPrinter(flags, { operation: "condition met", cwd: session.io.cwd });
    const conditions = conditionsOf(flags.for);
    const timeoutMs = flags.timeout < 0n ? weekMs : Number(flags.timeout) / 1e6;
    const until = session.io.clock.elapsed() + timeoutMs;
    if (wants(flags.for, "create")) await untilCreated(session, args, flags, until);
    let count = 0;
    const isForDelete = wants(flags.for, "delete");
    try {
      await (await query(session, args, flags)).visit(async (info) => {
        count++;
        for (const { isMet, isDelete } of conditions) {
          const last = await untilMet(session, info, isMet, isDelete, timeoutMs === 0 ? undefined : until);
          printer.print(last, (data) => session.io.stdout.write(data));
        }
      });
    } catch (error) {
      if (!isForDelete || !isNotFound(error)) throw error;
    }
    if (count === 0 && !isForDelete) throw new KubectlError("no matching resources found");
  },
});

const query = (session: Session, args: readonly string[], flags: WaitFlags): Promise<ResourceQuery> =>
  ResourceQuery.of(session, {
    args,
    filenames: flags.filename,
    isRecursive: flags.recursive,
    kustomize: flags.kustomize,
    labelSelector: flags.selector,
    fieldSelector: flags["field-selector"],
    selectAll: flags.all,
    allNamespaces: flags["all-namespaces"],
    isLocal: flags.local,
    latest: true,
    flatten: true,
    continueOnError: true,
  });
type WaitFlags = ParsedFlags<typeof flags>;

const wants = (conditions: readonly string[], word: string): boolean =>
  conditions.some((one) => one.toLowerCase() === word);

interface WaitCondition {
  readonly isMet: Condition;
  readonly isDelete?: boolean;
}

function conditionsOf(texts: readonly string[]): readonly WaitCondition[] {
  if (texts.length === 0) throw new KubectlError("unrecognized condition: []");
  return texts.map((text): WaitCondition => {
    if (text.toLowerCase() === "create") return { isMet: (object) => object !== undefined };
    if (text.toLowerCase() === "delete") return { isMet: (object) => object === undefined, isDelete: true };
    if (text.startsWith("condition=")) return { isMet: statusCondition(text.slice("condition=".length)) };
    if (text.startsWith("jsonpath=")) return { isMet: jsonPathCondition(text.slice("jsonpath=".length)) };
    throw new KubectlError(`unrecognized condition: ${JSON.stringify(text)}`);
  });
}

function statusCondition(text: string): Condition {
  const at = text.indexOf("=");
  const [name, value] = at < 0 ? [text, "true"] : [text.slice(0, at), text.slice(at + 1)];
  return (object) => {
    if (!object) return false;
    const { conditions, observedGeneration } = statusOf(object);
    const found = (Array.isArray(conditions) ? conditions : [])
      .filter(isObject)
      .find(({ type }) => stringIn(type).toLowerCase() === name.toLowerCase());
    if (!found || stringIn(found.status).toLowerCase() !== value.toLowerCase()) return false;
    const { generation } = metadataOf(object);
    const observed = found.observedGeneration ?? observedGeneration;
    return typeof generation !== "number" || typeof observed !== "number" || observed >= generation;
  };
}

function jsonPathCondition(text: string): Condition {
  const parts = text.split(/(?<!=)=(?!=)/);
  if (parts.length > 2)
    throw new KubectlError(
      "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'",
    );
  const path = parseJsonPath(relaxedJsonPath(parts[0] ?? ""), true);
  const wanted = parts[1]?.replace(/^['"]+|['"]+$/g, "");
  if (wanted === "")
    throw new KubectlError(
      "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
    );
  return (object) => {
    if (!object) return false;
    const results = path.find(object).flat();
    if (results.length > 1) throw new KubectlError("given jsonpath expression matches more than one value");
    const [value] = results;
    if (value === undefined) return false;
    if (typeof value === "object" && value !== null)
      throw new KubectlError("jsonpath leads to a nested object or list which is not supported");
    return wanted === undefined || String(value).trim() === wanted.trim();
  };
}

async function untilCreated(session: Session, args: readonly string[], flags: WaitFlags, until: number): Promise<void> {
  const { clock, signal } = session.io;
  for (;;) {
    let isFound = false;
    try {
      await (await query(session, args, flags)).visit(async () => {
        isFound = true;
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    if (isFound) return;
    if (clock.elapsed() + pollMs > until) throw new KubectlError("timed out waiting for the condition");
    await clock.sleep(pollMs, signal);
  }
}

/** The object when the condition is met. Without `until` it is looked at once. */
async function untilMet(
  session: Session,
  info: ResourceInfo,
  isMet: Condition,
  isDelete = false,
  until?: number,
): Promise<KubeObject> {
  const { mapping, namespace, name } = info;
  if (!mapping) throw new KubectlError(`${name} has no place on a server`);
  const uid = metadataOf(info.object).uid;
  const client = await session.client();
  const { clock } = session.io;
  let last = info.object as KubeObject;
  if (isDelete || until === undefined) {
    const present = await getUnlessGone(client, info);
    const isAnother = isDelete && present !== undefined && metadataOf(present).uid !== uid;
    if (isMet(isAnother ? undefined : present)) return present ?? last;
    if (until === undefined) throw new KubectlError(`condition not met for ${objectName(info)}`);
  }
  for (;;) {
    const pages = listPages(client, { mapping, namespace, fieldSelector: `metadata.name=${name}` });
    const { value: list } = await pages.next();
    const [item] = (list && Array.isArray(list.items) ? list.items : []).filter(isObject) as KubeObject[];
    const current = item && { apiVersion: last.apiVersion, kind: last.kind, ...item };
    const isAnother = isDelete && current !== undefined && metadataOf(current).uid !== uid;
    if (isMet(isAnother ? undefined : current)) return current ?? last;
    if (!current && !isDelete) throw notFound(info);
    last = current ?? last;
    const late = new AbortController();
    const timedOut = new KubectlError(`timed out waiting for the condition on ${objectName(info)}`);
    const cancel = clock.after(Math.max(0, until - clock.elapsed()), () => late.abort(timedOut));
    try {
      const resourceVersion = stringIn(metadataOf(list as KubeObject).resourceVersion);
      for await (const { type, object } of watchResource(client, {
        mapping,
        namespace,
        name,
        resourceVersion,
        signal: late.signal,
      })) {
        if (type === "ERROR") break;
        const seen = type === "DELETED" ? undefined : object;
        if (isMet(seen)) return seen ?? last;
        if (!seen) break;
        last = seen;
      }
    } finally {
      cancel();
      late.abort();
    }
  }
}

async function getUnlessGone(client: RestClient, info: ResourceInfo): Promise<KubeObject | undefined> {
  try {
    return await client.json({ path: infoPath(info) });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const notFound = ({ mapping, name }: ResourceInfo): KubectlError =>
  new KubectlError(
    `Error from server (NotFound): ${mapping?.resource}${mapping?.group ? `.${mapping.group}` : ""} ${JSON.stringify(name)} not found`,
  );
