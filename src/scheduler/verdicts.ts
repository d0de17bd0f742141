// The refusals of nodes in a cycle. The arrays are reused, so that a cycle allocates nothing per node.
import type { Refusal, SchedulerPlugin } from "./framework.ts";
import type { NodeState } from "./node-state.ts";

/** What was said of each node, by number from 0 to the size. */
export class Verdicts {
  readonly #nodes: NodeState[] = [];
  readonly #plugins: SchedulerPlugin[] = [];
  readonly #refusals: Refusal[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  clear(): void {
    this.#size = 0;
  }

  add(node: NodeState, plugin: SchedulerPlugin, refusal: Refusal): void {
    const at = this.#size++;
    this.#nodes[at] = node;
    this.#plugins[at] = plugin;
    this.#refusals[at] = refusal;
  }

  node(at: number): NodeState {
    return this.#nodes[at] as NodeState;
  }

  plugin(at: number): SchedulerPlugin {
    return this.#plugins[at] as SchedulerPlugin;
  }

  refusal(at: number): Refusal {
    return this.#refusals[at] as Refusal;
  }

  /** The plugins that refused any node. */
  plugins(): Set<SchedulerPlugin> {
    const all = new Set<SchedulerPlugin>();
    let last: SchedulerPlugin | undefined;
    for (let at = 0; at < this.#size; at++) {
      const plugin = this.plugin(at);
      if (plugin !== last) all.add(plugin);
      last = plugin;
    }
    return all;
  }

  /** How often each reason was given. */
  reasons(): Map<string, number> {
    const byRefusal = new Map<Refusal, number>();
    for (let at = 0; at < this.#size; at++) {
      const refusal = this.#refusals[at] as Refusal;
      byRefusal.set(refusal, (byRefusal.get(refusal) ?? 0) + 1);
    }
    const counts = new Map<string, number>();
    for (const [{ reason, also = [] }, times] of byRefusal)
      for (const one of [reason, ...also]) counts.set(one, (counts.get(one) ?? 0) + times);
    return counts;
  }
}
