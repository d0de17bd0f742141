// A cluster of a moment, for tests of plugins and cycles: nodes, pods on them, and what else there is. No server, no queue.
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ManualClock } from "#base/clock.ts";
import { deepFreeze } from "#base/collections.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Cache } from "#client/cache.ts";
import { cacheView } from "#client/controller.ts";
import { noMetrics } from "#client/metrics.ts";
import { keyOfObject } from "#client/object-key.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { makeProfiles, readConfiguration } from "../configuration.ts";
import { Cycle, explainMisfit, type FitFailure, type Placement } from "../cycle.ts";
import type { PluginContext } from "../framework.ts";
import { Nominations } from "../nominations.ts";
import { defaultPlugins, type PluginEntry } from "../plugins/list.ts";
import { PodView } from "../pod-view.ts";
import type { Profile } from "../profile.ts";
import { Snapshot } from "../snapshot.ts";

export interface ScenarioOptions {
  /** A KubeSchedulerConfiguration. */
  readonly configuration?: object;
  readonly plugins?: readonly PluginEntry[];
  readonly seed?: number;
}

export class Scenario {
  readonly snapshot = new Snapshot();
  readonly nominations = new Nominations();
  readonly clock = new ManualClock("2026-01-01T00:00:00Z");
  readonly context: PluginContext;
  readonly profile: Profile;
  readonly cycle: Cycle;
  /** What plugins did beside the cycle. */
  readonly acts: string[] = [];
  readonly #caches = new Map<AnyKind, Cache<unknown>>();
  #named = 0;

  constructor({ configuration = {}, plugins = defaultPlugins, seed = 1 }: ScenarioOptions = {}) {
    const { snapshot, nominations, clock } = this;
    const random = seededRandom(seed);
    this.context = {
      snapshot,
      clock,
      random,
      log: silentLog,
      metrics: noMetrics,
      cache: cacheView((kind) => this.#cacheOf(kind)),
      act: (pod, what) => this.acts.push(`${what} because of ${pod.name}`),
      unnominate: (pod) => nominations.delete(pod.uid),
      retry: () => undefined,
      nominated: (node) => nominations.on(node),
    };
    const [profile] = makeProfiles(readConfiguration(configuration), plugins, this.context).values();
    if (!profile) throw new Error("a configuration has at least one profile");
    this.profile = profile;
    this.cycle = new Cycle({ snapshot, nominations, random });
    this.have(Namespace, { metadata: { name: "default" } });
  }

  /** Anything that plugins read from caches. */
  have<K extends AnyKind>(kind: K, draft: Draft<Infer<K>>): Infer<K> {
    const object = this.#made(kind, draft) as Infer<K>;
    this.#cacheOf(kind).set(keyOfObject(object), deepFreeze(object));
    return object;
  }

  node(name: string, { metadata, spec, status }: Draft<Node> = {}): Node {
    const allocatable = { cpu: "4", memory: "8Gi", pods: "100", ...status?.allocatable };
    const labels = { "kubernetes.io/hostname": name, ...metadata?.labels };
    const node = this.#made(Node, {
      metadata: { ...metadata, name, labels },
      spec,
      status: { ...status, allocatable },
    });
    this.snapshot.setNode(node as Node);
    return node as Node;
  }

  /** A pod, on a node if one is named. */
  pod(draft: Draft<Pod> = {}, on?: string): PodView {
    const view = new PodView(this.podOf(draft, on));
    if (on !== undefined) this.snapshot.setPod(view, on);
    return view;
  }

  podOf({ metadata, spec, status }: Draft<Pod> = {}, on?: string): Pod {
    const name = metadata?.name ?? `pod-${this.#named++}`;
    const containers = [{ name: "app", image: "app" }];
    return this.#made(Pod, {
      metadata: { namespace: "default", ...metadata, name },
      spec: { containers, ...spec, ...(on !== undefined && { nodeName: on }) },
      ...(status && { status }),
    }) as Pod;
  }

  /** Takes all nodes and pods away again, one by one. */
  clear(): void {
    for (const { name, pods } of this.snapshot.nodes) {
      for (const uid of [...pods.keys()]) this.snapshot.removePod(uid);
      this.snapshot.removeNode(name);
    }
  }

  place(pod: PodView): Placement | FitFailure {
    return this.cycle.place(this.cycle.begin(this.profile, pod));
  }

  /** What each node that will not do is refused for. */
  refusals(pod: PodView): Readonly<Record<string, readonly string[]>> {
    const attempt = this.cycle.begin(this.profile, pod);
    const veto = attempt.prepare();
    return Object.fromEntries(
      this.snapshot.nodes.flatMap((node) => {
        const isOut = attempt.only?.has(node.name) === false;
        const refusal = isOut ? { reason: "left out" } : (veto?.refusal ?? attempt.judge(node));
        return refusal ? [[node.name, [refusal.reason, ...("also" in refusal ? (refusal.also ?? []) : [])]]] : [];
      }),
    );
  }

  /** What people are told, with what is tried when no node will do. */
  message(pod: PodView): string {
    const attempt = this.cycle.begin(this.profile, pod);
    const result = this.cycle.place(attempt);
    if ("node" in result) return `placed on ${result.node.name}`;
    const after = attempt.profile.postFilter.map(({ run }) => run(pod, attempt));
    const messages = after.map((one) => (one instanceof Promise ? "extenders are asked" : one.message));
    return explainMisfit(result, attempt, messages.filter((one) => one !== "").join(", "));
  }

  /** What one plugin gives each of the nodes, normalized. */
  scores(plugin: string, pod: PodView): Readonly<Record<string, number>> {
    const { nodes } = this.snapshot;
    const step = this.profile.score.find((one) => one.plugin.name === plugin);
    if (!step) throw new Error(`plugin ${plugin} gives no scores`);
    const prepared = step.plugin.preScore?.(pod, nodes, this.snapshot);
    if (step.plugin.preScore && !prepared) return {};
    const scores = Float64Array.from(nodes, (node) => step.run(pod, node, prepared?.state));
    step.plugin.normalize?.(scores, nodes, prepared?.state);
    return Object.fromEntries(nodes.map(({ name }, i) => [name, scores[i] ?? Number.NaN]));
  }

  #made(kind: AnyKind, draft: object): object {
    const { metadata, ...rest } = copied(draft) as { metadata?: object };
    const number = this.#named++;
    const { apiVersion, kind: name } = kind;
    const identity = {
      uid: `uid-${number}`,
      resourceVersion: String(number),
      creationTimestamp: "2026-01-01T00:00:00Z",
    };
    return applyDefaults(kind, { apiVersion, kind: name, metadata: { ...identity, ...metadata }, ...rest });
  }

  #cacheOf<K extends AnyKind>(kind: K): Cache<Infer<K>> {
    const cache = this.#caches.get(kind) ?? new Cache<unknown>();
    this.#caches.set(kind, cache);
    return cache as Cache<Infer<K>>; // only objects of the kind are put in
  }
}

/** Containers that ask for so much. */
export const asking = (requests: Readonly<Record<string, string>>, spec: Draft<Pod["spec"]> = {}): Draft<Pod> => ({
  spec: { containers: [{ name: "app", image: "app", resources: { requests } }], ...spec },
});

/** Defaults are filled in in place, and a draft may be used again. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) copy[key] = copied(inner);
  return copy;
}
