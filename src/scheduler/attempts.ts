// What became of the last attempt for each pod that still waits, for whoever asks why.
import type { Misfit } from "./cycle.ts";
import type { NodeState } from "./node-state.ts";
import type { PodView } from "./pod-view.ts";
import type { Verdicts } from "./verdicts.ts";

export interface NodeVerdict {
  readonly node: string;
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** Whether taking pods away from the node would not help. */
  readonly stuck: boolean;
}

export interface FailedAttempt {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As the event and the condition say it. */
  readonly message: string;
  /** How many nodes there were. */
  readonly nodes: number;
  /** What was said of each node that was looked at; undefined if that was given up for lack of room. */
  readonly verdicts: readonly NodeVerdict[] | undefined;
}

/** Verdicts of one pod, or of several that were told the same: names of nodes beside the number of what was said of them. */
interface Kept {
  readonly said: readonly Omit<NodeVerdict, "node">[];
  readonly nodes: readonly string[];
  readonly which: Uint16Array;
}

interface Entry {
  readonly at: number;
  readonly message: string;
  readonly nodes: number;
  kept: Kept | undefined;
}

/** Verdicts on nodes that are kept in all; ten bytes each. */
const mostVerdicts = 4_000_000;

export class Attempts {
  /** By uid; the oldest attempt first. */
  readonly #entries = new Map<string, Entry>();
  #last: Kept | undefined;
  readonly #uses = new Map<Kept, number>();
  #size = 0;

  of({ uid }: Pick<PodView, "uid">): FailedAttempt | undefined {
    const entry = this.#entries.get(uid);
    if (!entry) return undefined;
    const { at, message, nodes, kept } = entry;
    return { at, message, nodes, verdicts: kept && unpacked(kept) };
  }

  note({ uid }: PodView, { nodes }: Pick<Misfit, "nodes">, verdicts: Verdicts, message: string, at: number): void {
    this.forget(uid);
    const kept = this.#keep(verdicts);
    this.#entries.set(uid, { at, message, nodes, kept });
    this.#trim();
  }

  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    this.#entries.delete(uid);
    this.#release(entry);
  }

  /** Pods alike are told the same, one after the other: that is kept once. */
  #keep(verdicts: Verdicts): Kept {
    const fresh = packed(verdicts);
    const kept = this.#last && isSame(this.#last, fresh) ? this.#last : fresh;
    this.#last = kept;
    const uses = this.#uses.get(kept) ?? 0;
    if (uses === 0) this.#size += kept.nodes.length;
    this.#uses.set(kept, uses + 1);
    return kept;
  }

  #release(entry: Entry): void {
    const { kept } = entry;
    if (!kept) return;
    entry.kept = undefined;
    const uses = (this.#uses.get(kept) ?? 1) - 1;
    this.#uses.set(kept, uses);
    if (uses > 0) return;
    this.#uses.delete(kept);
    this.#size -= kept.nodes.length;
    if (this.#last === kept) this.#last = undefined;
  }

  #trim(): void {
    if (this.#size <= mostVerdicts) return;
    for (const entry of this.#entries.values()) {
      this.#release(entry);
      if (this.#size <= mostVerdicts) return;
    }
  }
}

function packed(verdicts: Verdicts): Kept {
  const said: Omit<NodeVerdict, "node">[] = [];
  const numbers = new Map<unknown, number>();
  const nodes: string[] = [];
  const which = new Uint16Array(verdicts.size);
  for (const { node, plugin, refusal } of verdicts) {
    let number = numbers.get(refusal);
    if (number === undefined) {
      number = said.length;
      numbers.set(refusal, number);
      said.push({ plugin: plugin.name, reasons: [refusal.reason, ...(refusal.also ?? [])], stuck: refusal.stuck });
    }
    which[nodes.length] = number;
    nodes.push((node satisfies NodeState).name);
  }
  return { said, nodes, which };
}

const unpacked = ({ said, nodes, which }: Kept): readonly NodeVerdict[] =>
  nodes.flatMap((node, i) => {
    const verdict = said[which[i] ?? -1];
    return verdict ? [{ node, ...verdict }] : [];
  });

function isSame(a: Kept, b: Kept): boolean {
  if (a.nodes.length !== b.nodes.length || a.said.length !== b.said.length) return false;
  if (!a.which.every((number, i) => number === b.which[i]) || !a.nodes.every((name, i) => name === b.nodes[i]))
    return false;
  return a.said.every(({ plugin, reasons, stuck }, i) => {
    const other = b.said[i];
    return other?.plugin === plugin && other.stuck === stuck && other.reasons.join("\n") === reasons.join("\n");
  });
}
