// What HTTP servers outside say about pods and nodes, besides the plugins.
// Upstream: pkg/scheduler/extender.go, pkg/scheduler/schedule_one.go and pkg/scheduler/framework/preemption/preemption.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Extender } from "./extender-kinds.ts";
import { type Refusal, schedulerPlugin, type Wake } from "./framework.ts";
import type { NodeState } from "./node-state.ts";
import type { Candidate } from "./plugins/victims.ts";
import type { PodView } from "./pod-view.ts";

/** Posts a JSON value to a verb of an extender, and returns the JSON value of the answer. Throws if there is none. */
export type ExtenderCall = (extender: Extender, verb: string, body: object, signal: AbortSignal) => Promise<unknown>;

/** What extenders said of the nodes they were asked about. */
export interface ExtenderAdvice {
  /** Why the node will not do, if so. */
  refusalOf(node: string): Refusal | undefined;
  /** What is added to the total of the node. */
  readonly scores: ReadonlyMap<string, number>;
}

export interface ExtendersOptions {
  readonly extenders: readonly Extender[];
  readonly call: ExtenderCall;
  readonly log: Log;
}

/** Scores of extenders go from 0 to 10, those of plugins to 100. */
const scale = 10;

const anyChange = ["add", "update", "delete"] as const;
const wakes: readonly Wake[] = (
  [
    "Pod",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "ResourceClaim",
    "ResourceSlice",
    "DeviceClass",
  ] as const
).map((kind) => ({ kind, on: anyChange }));
/** Stands for extenders among the plugins that refused a pod. Nobody knows what may change their minds, so anything may. */
export const extenderPlugin = schedulerPlugin({ name: "Extender", wakes });

const unexplained: Refusal = { reason: "node(s) were rejected by an extender", stuck: true };
const notAsked: Refusal = { reason: "node(s) became available while extenders were asked", stuck: true };

export class Extenders {
  readonly #options: ExtendersOptions;
  /** Those that may fail come last. */
  readonly #ordered: readonly Extender[];
  #signal: AbortSignal | undefined;

  constructor(options: ExtendersOptions) {
    this.#options = options;
    const { extenders } = options;
    this.#ordered = [...extenders.filter(({ ignorable }) => !ignorable), ...extenders.filter((one) => one.ignorable)];
  }

  /** From now on, calls end with this signal. */
  endWith(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Whether any extender is to be asked about nodes for the pod. */
  concern({ pod }: PodView): boolean {
    return this.#ordered.some(
      (one) => (one.filterVerb || one.prioritizeVerb || one.preemptVerb) && isInterested(one, pod),
    );
  }

  /** Asks about nodes that will do as far as the plugins are concerned. Throws if an extender fails that must not. */
  async advise({ pod }: PodView, nodes: readonly NodeState[]): Promise<ExtenderAdvice> {
    const interested = this.#ordered.filter((one) => isInterested(one, pod));
    const refusals = new Map<string, Refusal>();
    let left = nodes;
    for (const extender of interested) {
      if (left.length === 0) break;
      if (!extender.filterVerb) continue;
      const verdict = await this.#unless(extender, "filter", () => this.#filter(extender, pod, left));
      if (!verdict) continue;
      for (const { name } of left) if (!verdict.kept.has(name)) refusals.set(name, verdict.why(name));
      left = left.filter(({ name }) => verdict.kept.has(name));
    }
    const allowed = new Set(left.map(({ name }) => name));
    const scores = left.length > 1 ? await this.#prioritize(interested, pod, left) : new Map<string, number>();
    return { scores, refusalOf: (name) => (allowed.has(name) ? undefined : (refusals.get(name) ?? notAsked)) };
  }

  /** Which of the candidates will do, and which victims there; undefined if no extender is to be asked. */
  preempt({ pod }: PodView, candidates: readonly Candidate[]): Promise<readonly Candidate[]> | undefined {
    const asked = this.#ordered.filter((one) => one.preemptVerb && isInterested(one, pod));
    return asked.length === 0 || candidates.length === 0 ? undefined : this.#preempt(asked, pod, candidates);
  }

  /** Has an extender bind the pod, if one does that. */
  async bind({ pod, namespace, name, uid }: PodView, node: NodeState): Promise<boolean> {
    const body = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node.name };
    for (const extender of this.#ordered) {
      if (!extender.bindVerb || !isInterested(extender, pod)) continue;
      const isBound = await this.#unless(extender, "bind", async () => {
        const { error } = membersOf(await this.#call(extender, extender.bindVerb ?? "", body));
        if (typeof error === "string" && error !== "") throw new Error(error);
        return true;
      });
      if (isBound) return true;
    }
    return false;
  }

  async #filter(extender: Extender, pod: Pod, nodes: readonly NodeState[]) {
    const answer = membersOf(
      await this.#call(extender, extender.filterVerb ?? "", { Pod: pod, ...told(extender, nodes) }),
    );
    const { error, nodenames, nodes: list, failednodes, failedandunresolvablenodes } = answer;
    if (typeof error === "string" && error !== "") throw new Error(error);
    const names = extender.nodeCacheCapable && nodenames ? nodenames : namesIn(list);
    const known = new Set(nodes.map(({ name }) => name));
    const kept = new Set<string>();
    for (const name of Array.isArray(names) ? names : []) {
      if (typeof name !== "string" || !known.has(name))
        throw new Error(
          `extender ${JSON.stringify(extender.urlPrefix)} claims a filtered node ${JSON.stringify(name)} which is not found in the input node list`,
        );
      kept.add(name);
    }
    const [failed, hopeless] = [textsIn(failednodes), textsIn(failedandunresolvablenodes)];
    const why = (name: string): Refusal => {
      const reason = hopeless.get(name) ?? failed.get(name);
      return reason === undefined ? unexplained : { reason, stuck: hopeless.has(name) };
    };
    return { kept, why };
  }

  /** An extender that fails gives no scores. */
  async #prioritize(interested: readonly Extender[], pod: Pod, nodes: readonly NodeState[]) {
    const totals = new Map<string, number>();
    await Promise.all(
      interested.map(async (extender) => {
        const { prioritizeVerb, weight = 0, urlPrefix } = extender;
        if (!prioritizeVerb) return;
        try {
          const answer = await this.#call(extender, prioritizeVerb, { Pod: pod, ...told(extender, nodes) });
          if (!Array.isArray(answer)) throw new Error("expected a list of hosts and scores");
          for (const { host, score } of answer.map(membersOf)) {
            if (typeof host !== "string" || !Number.isSafeInteger(score ?? 0))
              throw new Error("expected a list of hosts and scores");
            totals.set(host, (totals.get(host) ?? 0) + Number(score ?? 0) * weight * scale);
          }
        } catch (error) {
          this.#options.log.debug("an extender gave no scores", { extender: urlPrefix, error: explain(error) });
        }
      }),
    );
    return totals;
  }

  async #preempt(extenders: readonly Extender[], pod: Pod, candidates: readonly Candidate[]) {
    let left = candidates;
    for (const extender of extenders) {
      if (left.length === 0) break;
      left = (await this.#unless(extender, "preempt", () => this.#victims(extender, pod, left))) ?? left;
    }
    return left;
  }

  async #victims(extender: Extender, pod: Pod, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
    const body = { Pod: pod, ...toldVictims(extender, candidates) };
    const answer = membersOf(await this.#call(extender, extender.preemptVerb ?? "", body));
    const byNode = new Map(candidates.map((one) => [one.node.name, one]));
    const chosen: Candidate[] = [];
    for (const [name, value] of Object.entries(recordOf(answer.nodenametometavictims))) {
      const node = byNode.get(name)?.node;
      if (!node)
        throw new Error(
          `extender: ${extender.urlPrefix} claims to preempt on node: ${name}, but it was not asked about it`,
        );
      const { pods, numpdbviolations } = membersOf(value);
      const victims = (Array.isArray(pods) ? pods : []).map((one) => {
        const { uid } = membersOf(one);
        const victim = typeof uid === "string" ? node.pods.get(uid) : undefined;
        if (victim) return victim;
        throw new Error(
          `extender: ${extender.urlPrefix} claims to preempt pod (UID: ${String(uid)}) on node: ${name}, but the pod is not found on that node`,
        );
      });
      if (victims.length > 0) chosen.push({ node, victims, violations: Number(numpdbviolations ?? 0) });
      else if (!extender.ignorable) throw new Error(`expected at least one victim pod on node ${JSON.stringify(name)}`);
    }
    return chosen;
  }

  /** Undefined if the extender fails and scheduling may go on without it. */
  async #unless<T>(extender: Extender, what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!extender.ignorable || this.#signal?.aborted) throw error;
      this.#options.log.info("went on without an extender that failed", {
        extender: extender.urlPrefix,
        what,
        error: explain(error),
      });
      return undefined;
    }
  }

  #call(extender: Extender, verb: string, body: object): Promise<unknown> {
    if (!this.#signal) throw new Error("extenders are asked before the scheduler runs");
    return this.#options.call(extender, verb, body, this.#signal);
  }
}

/** Whether the pod wants a resource that the extender manages; one that manages none looks at all pods. */
function isInterested({ managedResources = [] }: Extender, { spec }: Pod): boolean {
  if (managedResources.length === 0) return true;
  const managed = new Set(managedResources.map(({ name }) => name));
  return [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) =>
    [resources?.requests, resources?.limits].some((amounts) =>
      Object.keys(amounts ?? {}).some((one) => managed.has(one)),
    ),
  );
}

const told = ({ nodeCacheCapable }: Extender, nodes: readonly NodeState[]) =>
  nodeCacheCapable
    ? { Nodes: null, NodeNames: nodes.map(({ name }) => name) }
    : { Nodes: { metadata: {}, items: nodes.map(({ node }) => node) }, NodeNames: null };

function toldVictims({ nodeCacheCapable }: Extender, candidates: readonly Candidate[]) {
  const byNode = (podsOf: (candidate: Candidate) => readonly object[]) =>
    Object.fromEntries(
      candidates.map((one) => [one.node.name, { Pods: podsOf(one), NumPDBViolations: one.violations }]),
    );
  return nodeCacheCapable
    ? {
        NodeNameToVictims: null,
        NodeNameToMetaVictims: byNode(({ victims }) => victims.map(({ uid }) => ({ UID: uid }))),
      }
    : { NodeNameToVictims: byNode(({ victims }) => victims.map(({ pod }) => pod)), NodeNameToMetaVictims: null };
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

/** The members by their names in lower case: extenders in Go write them as they like, and Go reads them like this. */
const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(recordOf(value)).map(([name, member]) => [name.toLowerCase(), member]));

const textsIn = (value: unknown): ReadonlyMap<string, string> =>
  new Map(Object.entries(recordOf(value)).map(([name, text]) => [name, String(text)]));

function namesIn(list: unknown): readonly unknown[] {
  const { items } = membersOf(list);
  return (Array.isArray(items) ? items : []).map((node) => membersOf(membersOf(node).metadata).name);
}
