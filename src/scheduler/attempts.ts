// The result of the last attempt for each pending pod, for `knarr why`.
import { equal } from "#base/collections.ts";
import type { FitFailure } from "./cycle.ts";
import type { Refusal, SchedulerPlugin } from "./framework.ts";
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
  /** The refusal of each node that was looked at; undefined if it was dropped to save memory. */
  readonly verdicts: readonly NodeVerdict[] | undefined;
}

export type Said = Omit<NodeVerdict, "node">;

/** Verdicts of one pod, or of several pods with the same ones: names of nodes, and for each the index of its refusal. */
interface VerdictRecord {
  readonly said: readonly Said[];
  readonly nodes: readonly string[];
  readonly which: Uint16Array;
}

interface Entry {
  readonly at: number;
  readonly message: string;
  readonly nodes: number;
  kept: VerdictRecord | undefined;
}

export class Attempts {
  readonly #mostVerdicts: number;
  /** By uid; the oldest attempt first. */
  readonly #entries = new Map<string, Entry>();
  #last: VerdictRecord | undefined;
  readonly #uses = new Map<VerdictRecord, number>();
  #size = 0;

  /** How many verdicts are kept in all; each takes ten bytes. */
  constructor(mostVerdicts = 4_000_000) {
    this.#mostVerdicts = mostVerdicts;
  }

  of({ uid }: Pick<PodView, "uid">): FailedAttempt | undefined {
    const entry = this.#entries.get(uid);
    if (!entry) return undefined;
    const { at, message, nodes, kept } = entry;
    return { at, message, nodes, verdicts: kept && unpacked(kept) };
  }

  note({ uid }: PodView, { nodes }: Pick<FitFailure, "nodes">, verdicts: Verdicts, message: string, at: number): void {
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

  /** Equal pods often get equal verdicts, one after the other: these share one list. */
  #keep(verdicts: Verdicts): VerdictRecord {
    const kept = this.#last && isSame(this.#last, verdicts) ? this.#last : packed(verdicts);
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
    if (this.#size <= this.#mostVerdicts) return;
    for (const entry of this.#entries.values()) {
      this.#release(entry);
      if (this.#size <= this.#mostVerdicts) return;
    }
  }
}

function packed(verdicts: Verdicts): VerdictRecord {
  const said: Said[] = [];
  const numbers = new Map<Refusal, number>();
  const nodes: string[] = [];
  const which = new Uint16Array(verdicts.size);
  for (let at = 0; at < verdicts.size; at++) {
    const refusal = verdicts.refusal(at);
    let number = numbers.get(refusal);
    if (number === undefined) {
      number = said.push(saidBy(verdicts.plugin(at), refusal)) - 1;
      numbers.set(refusal, number);
    }
    which[at] = number;
    nodes.push(verdicts.node(at).name);
  }
  return { said, nodes, which };
}

export const saidBy = ({ name }: SchedulerPlugin, { reason, also = [], stuck }: Refusal): Said => ({
  plugin: name,
  reasons: [reason, ...also],
  stuck,
});

const unpacked = ({ said, nodes, which }: VerdictRecord): readonly NodeVerdict[] =>
  nodes.flatMap((node, i) => {
    const verdict = said[which[i] ?? -1];
    return verdict ? [{ node, ...verdict }] : [];
  });

/** Whether the same was said of the same nodes. */
function isSame({ said, nodes, which }: VerdictRecord, verdicts: Verdicts): boolean {
  if (nodes.length !== verdicts.size) return false;
  const indexes = new Map<Refusal, number>();
  for (let at = 0; at < verdicts.size; at++) {
    if (nodes[at] !== verdicts.node(at).name) return false;
    const refusal = verdicts.refusal(at);
    const number = which[at] as number;
    const seen = indexes.get(refusal);
    if (seen === number) continue;
    if (seen !== undefined || !equal(said[number], saidBy(verdicts.plugin(at), refusal))) return false;
    indexes.set(refusal, number);
  }
  return true;
}
