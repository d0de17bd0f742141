// Upstream: kubectl/pkg/cmd/drain/drain.go and kubectl/pkg/drain.
import { ApiError, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { parseSelector, SelectorError } from "#schema/selector.ts";
import { command } from "../../command.ts";
import { AggregateKubectlError, KubectlError, throwAll } from "../../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../../flags.ts";
import { listPages } from "../../resources/list-pages.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject, RestClient } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { podMapping, specOf, statusOf } from "../../workloads/pods.ts";
import { type DryRun, dryRunOf } from "../../write-options.ts";
import { cordon, dryRunNote, nodeFlags, nodesFor } from "./nodes.ts";

const flags = {
  ...nodeFlags,
  "chunk-size": { type: "int", default: 500, help: "Objects per request of a large list." },
  "delete-emptydir-data": { type: "bool", help: "Go on though pods use emptyDir, whose data will be deleted." },
  "disable-eviction": { type: "bool", help: "Delete pods instead of evicting them: disruption budgets are not asked." },
  force: { type: "bool", help: "Go on though pods have no controller." },
  "grace-period": { type: "int", default: -1, help: "Seconds for each pod to end; less than 0 leaves it to the pod." },
  "ignore-daemonsets": { type: "bool", help: "Leave pods of DaemonSets alone." },
  "pod-selector": { type: "string", help: "Only pods with labels like this." },
  "skip-wait-for-delete-timeout": {
    type: "int",
    help: "Do not wait for pods that have been ending for longer than so many seconds.",
  },
  timeout: { type: "duration", default: "0s", help: "How long to try; 0 means for ever." },
} as const satisfies FlagDeclarations;
type DrainFlags = ParsedFlags<typeof flags>;

const retryMs = 5000;
const pollMs = 1000;

export const drain = command({
  use: "drain NODE",
  long: "Make a node ready for maintenance: it gets no new pods, and those it has are evicted, as disruption budgets allow.",
  examples: `# Drain a node, whatever its pods are
kubectl drain worker-1 --force --ignore-daemonsets --delete-emptydir-data`,
  flags,
  async run(session, args, flags, { changed, commandPath }) {
    const usage = { use: "drain NODE", commandPath, isSelected: changed.has("selector") };
    const dryRun = dryRunOf(session, flags["dry-run"]);
    checkSelector(flags["pod-selector"]);
    const infos = await nodesFor(session, args, flags.selector, usage);
    await cordon(session, infos, true, dryRun);
    const errors: Error[] = [];
    const pending: string[] = [];
    for (const { name } of infos) {
      try {
        await drainNode(session, name, flags, dryRun);
        session.print(`node/${name} drained${dryRunNote(dryRun)}`);
      } catch (error) {
        if (!(error instanceof Error) || session.io.signal.aborted) throw error;
        session.printError(
          `error: unable to drain node ${JSON.stringify(name)} due to error: ${error.message}, continuing command...`,
        );
        errors.push(error);
        pending.push(name);
      }
    }
    if (pending.length > 0)
      session.printError(`There are pending nodes to be drained:\n${pending.map((name) => ` ${name}`).join("\n")}`);
    throwAll(errors);
  },
});

function checkSelector(text: string): void {
  try {
    parseSelector(text);
  } catch (cause) {
    if (!(cause instanceof SelectorError)) throw cause;
    throw new KubectlError("--pod-selector=<pod_selector> must be a valid label selector", { cause });
  }
}

async function drainNode(session: Session, node: string, flags: DrainFlags, dryRun: DryRun): Promise<void> {
  const client = await session.client();
  const decided = await decisions(session, client, node, flags);
  const failed = grouped(decided, "error");
  if (failed.size > 0)
    throw aggregate([...failed].map(([why, names]) => new KubectlError(`cannot delete ${why}: ${names.join(", ")}`)));
  const warnings = [...grouped(decided, "warning")].map(([why, names]) => `${why}: ${names.join(", ")}`);
  if (warnings.length > 0) session.printError(`Warning: ${warnings.join("; ")}`);
  const pods = decided.filter(({ isRemoved }) => isRemoved).map(({ pod }) => pod);
  const late = new AbortController();
  const { clock } = session.io;
  const seconds = Number(flags.timeout) / 1e9;
  const expired = () =>
    late.abort(new KubectlError(`error when waiting for pods to terminate: global timeout reached: ${seconds}s`));
  const cancel = flags.timeout > 0n ? clock.after(seconds * 1000, expired) : () => undefined;
  try {
    const signal = AbortSignal.any([late.signal, session.io.signal]);
    await Promise.all(pods.map((pod) => removePod(session, client, pod, flags, dryRun, signal)));
  } finally {
    cancel();
  }
}

const aggregate = (errors: readonly Error[]): Error =>
  errors.length === 1 ? (errors[0] as Error) : new AggregateKubectlError(errors);

interface PodDecision {
  readonly pod: KubeObject;
  readonly isRemoved: boolean;
  readonly warning?: string;
  readonly error?: string;
}

const keyOf = (pod: KubeObject): string => `${metadataOf(pod).namespace}/${metadataOf(pod).name}`;

function grouped(decided: readonly PodDecision[], field: "warning" | "error"): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const decision of decided) {
    const why = decision[field];
    if (why !== undefined) groups.set(why, [...(groups.get(why) ?? []), keyOf(decision.pod)]);
  }
  return groups;
}

async function decisions(
  session: Session,
  client: RestClient,
  node: string,
  flags: DrainFlags,
): Promise<readonly PodDecision[]> {
  const decided: PodDecision[] = [];
  const request = {
    mapping: podMapping,
    namespace: "",
    fieldSelector: `spec.nodeName=${node}`,
    labelSelector: flags["pod-selector"],
    chunkSize: flags["chunk-size"],
  };
  for await (const { items } of listPages(client, request))
    for (const pod of (Array.isArray(items) ? items : []).filter(isObject))
      decided.push(await decisionOf(session, client, pod as KubeObject, flags));
  return decided;
}

async function decisionOf(
  session: Session,
  client: RestClient,
  pod: KubeObject,
  flags: DrainFlags,
): Promise<PodDecision> {
  const { deletionTimestamp, ownerReferences, annotations, namespace } = metadataOf(pod);
  const skipSeconds = flags["skip-wait-for-delete-timeout"];
  const endingMs = session.io.clock.now() - Date.parse(stringIn(deletionTimestamp));
  if (skipSeconds > 0 && endingMs > skipSeconds * 1000) return { pod, isRemoved: false };
  const owner = (Array.isArray(ownerReferences) ? ownerReferences : [])
    .filter(isObject)
    .find(({ controller }) => controller === true);
  const hasEnded = ["Succeeded", "Failed"].includes(stringIn(statusOf(pod).phase));
  if (owner?.kind === "DaemonSet" && owner.apiVersion === "apps/v1" && !hasEnded) {
    const missing = await failureOf(
      client.json({ path: `/apis/apps/v1/namespaces/${namespace}/daemonsets/${owner.name}` }),
    );
    if (missing)
      return isNotFound(missing) && flags.force
        ? { pod, isRemoved: true, warning: missing.message }
        : { pod, isRemoved: false, error: missing.message };
    if (!flags["ignore-daemonsets"])
      return { pod, isRemoved: false, error: "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)" };
    return { pod, isRemoved: false, warning: "ignoring DaemonSet-managed Pods" };
  }
  if (isObject(annotations) && Object.hasOwn(annotations, "kubernetes.io/config.mirror"))
    return { pod, isRemoved: false };
  if (hasEnded) return { pod, isRemoved: true };
  const { volumes } = specOf(pod);
  const isLocal = Array.isArray(volumes) && volumes.some((volume) => isObject(volume) && volume.emptyDir !== undefined);
  if (isLocal && !flags["delete-emptydir-data"])
    return { pod, isRemoved: false, error: "Pods with local storage (use --delete-emptydir-data to override)" };
  if (!owner)
    return flags.force
      ? { pod, isRemoved: true, warning: "deleting Pods that declare no controller" }
      : { pod, isRemoved: false, error: "Pods that declare no controller (use --force to override)" };
  return isLocal ? { pod, isRemoved: true, warning: "deleting Pods with local storage" } : { pod, isRemoved: true };
}

async function failureOf(work: Promise<unknown>): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Evicts until the budgets allow it, then waits until the pod is gone. */
async function removePod(
  session: Session,
  client: RestClient,
  pod: KubeObject,
  flags: DrainFlags,
  dryRun: DryRun,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid } = metadataOf(pod);
  const path = resourcePath(podMapping, stringIn(namespace), stringIn(name));
  const verb = flags["disable-eviction"] ? "deleting" : "evicting";
  session.print(`${verb} pod ${keyOf(pod)}${dryRunNote(dryRun)}`);
  if (dryRun === "client") return;
  const grace = flags["grace-period"] < 0 ? {} : { gracePeriodSeconds: flags["grace-period"] };
  const deleteOptions = { ...grace, ...(dryRun === "server" && { dryRun: ["All"] }) };
  while (!(await tryRemove(session, client, pod, path, flags["disable-eviction"], deleteOptions, signal)))
    await session.io.clock.sleep(retryMs, signal);
  if (dryRun === "server") return;
  for (;;) {
    const current = await client.json({ path, signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (!current || metadataOf(current).uid !== uid) break;
    await session.io.clock.sleep(pollMs, signal);
  }
  session.print(`pod/${name} ${flags["disable-eviction"] ? "deleted" : "evicted"}`);
}

/** False if a budget forbids it for now. */
async function tryRemove(
  session: Session,
  client: RestClient,
  pod: KubeObject,
  path: string,
  isDelete: boolean,
  deleteOptions: object,
  signal: AbortSignal,
): Promise<boolean> {
  const { name, namespace } = metadataOf(pod);
  const json = { contentType: "application/json", signal } as const;
  try {
    if (isDelete)
      await client.json({
        method: "DELETE",
        path,
        body: JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", ...deleteOptions }),
        ...json,
      });
    else {
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace }, deleteOptions };
      await client.json({ method: "POST", path: `${path}/eviction`, body: JSON.stringify(eviction), ...json });
    }
    return true;
  } catch (error) {
    if (isNotFound(error)) return true;
    if (!(error instanceof ApiError) || error.code !== 429)
      throw error instanceof Error
        ? new KubectlError(
            `error when ${isDelete ? "deleting" : "evicting"} pods/${JSON.stringify(name)} -n ${JSON.stringify(namespace)}: ${error.message}`,
            { cause: error },
          )
        : error;
    session.printError(
      `error when evicting pods/${JSON.stringify(name)} -n ${JSON.stringify(namespace)} (will retry after 5s): ${error.message}`,
    );
    return false;
  }
}
