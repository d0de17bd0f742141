// Is there an order of all operations, each at one moment between its call and its return, in which a simple
// key-value store would have given the same answers? After Wing and Gong (1993), with Lowe's memory of what was tried.
//
// Linearizability is a matter of each key alone, so keys are searched one by one; revisions are the store's own
// clock for all keys, so their order is checked against real time across keys.
import type { Revision } from "../engine.ts";

/** What a reader saw of a key. */
export interface Seen {
  readonly value: string;
  readonly created: Revision;
  readonly modified: Revision;
}

/** How an operation ended; "unknown" if the caller could not learn whether it was carried out. */
export type HistoryOutcome =
  | { readonly is: "written"; readonly revision: Revision; readonly created?: Revision }
  | { readonly is: "conflict"; readonly present: Seen | undefined }
  | { readonly is: "found"; readonly present: Seen | undefined }
  | { readonly is: "unknown" };

export interface HistoryOperation {
  readonly kind: "put" | "delete" | "get";
  readonly key: string;
  /** Of a put. No two puts to one key may write the same value: it tells them apart. */
  readonly value?: string;
  /** Of a put or a delete. */
  readonly expected?: Revision;
  /** When it was called and when it returned, in one order for all operations. */
  readonly called: number;
  readonly returned: number;
  readonly outcome: HistoryOutcome;
}

/** Why the history is impossible, in a sentence; undefined if it is possible. */
export function violationIn(history: readonly HistoryOperation[]): string | undefined {
  const byKey = Map.groupBy(history, ({ key }) => key);
  for (const operations of byKey.values()) {
    const violation = unobservable(operations) ?? search(learn(operations));
    if (violation) return violation;
  }
  return revisionViolation(history);
}

/** An operation with all that can be known of it from what others saw. */
interface Step {
  readonly operation: HistoryOperation;
  /** The revision it wrote; undefined if it wrote none, or nobody saw which. */
  readonly revision: Revision | undefined;
  /** It may never have happened. */
  readonly isOptional: boolean;
  readonly called: number;
  readonly returned: number;
}

/** The key's entry, and the greatest revision known to have touched it. */
interface State {
  readonly present: Seen | undefined;
  readonly touched: Revision;
}

const seenBy = ({ outcome }: HistoryOperation) =>
  outcome.is === "found" || outcome.is === "conflict" ? outcome.present : undefined;

/** Values that were seen although nobody wrote them, or at two revisions. */
function unobservable(operations: readonly HistoryOperation[]): string | undefined {
  const puts = new Map<string, HistoryOperation>();
  for (const operation of operations) {
    if (operation.kind !== "put") continue;
    const value = operation.value ?? "";
    if (puts.has(value))
      throw new Error(`two puts of ${JSON.stringify(value)} to ${operation.key}: values must differ`);
    puts.set(value, operation);
  }
  const revisions = new Map<string, Revision>();
  for (const operation of operations) {
    const seen = seenBy(operation);
    if (!seen) continue;
    const put = puts.get(seen.value);
    if (!put || put.outcome.is === "conflict")
      return `${describe(operation)}: that value was ${put ? "refused" : "never written"}`;
    const known = put.outcome.is === "written" ? put.outcome.revision : revisions.get(seen.value);
    if (known !== undefined && known !== seen.modified)
      return `${describe(operation)}: that value has revision ${known}, not ${seen.modified}`;
    revisions.set(seen.value, seen.modified);
  }
  return undefined;
}

/** A write of unknown outcome has happened if its value was seen. Unseen, it cannot have mattered to anyone. */
function learn(operations: readonly HistoryOperation[]): readonly Step[] {
  const revisions = new Map<string, Revision>();
  for (const operation of operations) {
    const seen = seenBy(operation);
    if (seen) revisions.set(seen.value, seen.modified);
  }
  const steps = operations.flatMap((operation): Step[] => {
    const { outcome, kind, called, returned } = operation;
    if (outcome.is === "written")
      return [{ operation, revision: outcome.revision, isOptional: false, called, returned }];
    if (outcome.is !== "unknown") return [{ operation, revision: undefined, isOptional: false, called, returned }];
    const step = { operation, called, returned: Number.POSITIVE_INFINITY };
    if (kind === "delete") return [{ ...step, revision: undefined, isOptional: true }];
    const revision = kind === "put" ? revisions.get(operation.value ?? "") : undefined;
    return revision === undefined ? [] : [{ ...step, revision, isOptional: false }];
  });
  return steps.toSorted((a, b) => a.called - b.called);
}

interface Node {
  readonly state: State;
  /** All steps before this one are placed, and of those behind it, these. */
  readonly first: number;
  readonly beyond: ReadonlySet<number>;
}

/** Looks for an order, depth first. */
function search(steps: readonly Step[]): string | undefined {
  const tried = new Set<string>();
  const open: Node[] = [{ state: { present: undefined, touched: 0 }, first: 0, beyond: new Set() }];
  let furthest: Node = open[0] as Node;
  for (let node = open.pop(); node; node = open.pop()) {
    const id = `${node.first}|${[...node.beyond].toSorted((a, b) => a - b)}|${node.state.touched}|${node.state.present?.modified}`;
    if (tried.has(id)) continue;
    tried.add(id);
    if (node.first + node.beyond.size > furthest.first + furthest.beyond.size) furthest = node;
    if (isComplete(steps, node)) return undefined;
    for (const index of candidatesOf(steps, node)) {
      const next = apply(node.state, steps[index] as Step);
      if (next) open.push(place(steps, node, index, next));
    }
  }
  const stuck = candidatesOf(steps, furthest).map((index) => describe((steps[index] as Step).operation));
  const { present } = furthest.state;
  const holds = present ? `${JSON.stringify(present.value)}@${present.modified}` : "nothing";
  return `no order of the operations explains their results; with the key holding ${holds}, next could be: ${stuck.join("; ")}`;
}

/** Only what may still be left out is not placed. */
function isComplete(steps: readonly Step[], { first, beyond }: Node): boolean {
  for (let i = first; i < steps.length; i++) if (!beyond.has(i) && !steps[i]?.isOptional) return false;
  return true;
}

/** Steps that may come next: those called before any step not yet placed returned. */
function candidatesOf(steps: readonly Step[], { first, beyond }: Node): number[] {
  let deadline = Number.POSITIVE_INFINITY;
  const candidates: number[] = [];
  for (let i = first; i < steps.length; i++) {
    const step = steps[i] as Step;
    if (step.called > deadline) break;
    if (beyond.has(i)) continue;
    candidates.push(i);
    deadline = Math.min(deadline, step.returned);
  }
  return candidates.filter((i) => (steps[i] as Step).called < deadline);
}

function place(steps: readonly Step[], { first, beyond }: Node, index: number, state: State): Node {
  const placed = new Set(beyond).add(index);
  let next = first;
  while (next < steps.length && (placed.delete(next) || isMoot(steps[next] as Step, state))) next++;
  return { state, first: next, beyond: placed };
}

/** It may be left out, and can no longer happen: the revision it expects is past. */
const isMoot = ({ isOptional, operation }: Step, { present, touched }: State) =>
  isOptional && touched > (operation.expected ?? 0) && present?.modified !== operation.expected;

/** The state after the step; undefined if the step could not have gone so in this state. */
function apply(state: State, { operation, revision, isOptional }: Step): State | undefined {
  const { kind, outcome, expected = 0 } = operation;
  const { present, touched } = state;
  const isExpected = (present?.modified ?? 0) === expected;
  if (outcome.is === "found") return isSame(present, outcome.present) ? state : undefined;
  if (outcome.is === "conflict") {
    const isRight = isSame(present, outcome.present) && (!isExpected || (kind === "delete" && !present));
    return isRight ? state : undefined;
  }
  if (!isExpected) return undefined;
  if (kind === "delete") {
    if (!present) return undefined;
    if (isOptional) return { present: undefined, touched: Math.max(touched, present.modified + 1) };
  }
  if (revision === undefined || revision <= touched) return undefined;
  if (kind === "delete") return { present: undefined, touched: revision };
  const created = present?.created ?? revision;
  if (outcome.is === "written" && outcome.created !== undefined && outcome.created !== created) return undefined;
  return { present: { value: operation.value ?? "", created, modified: revision }, touched: revision };
}

const isSame = (a: Seen | undefined, b: Seen | undefined) =>
  a === b || (a?.value === b?.value && a?.created === b?.created && a?.modified === b?.modified);

/** Revisions are unique, and grow with real time. */
function revisionViolation(history: readonly HistoryOperation[]): string | undefined {
  const writes = history.flatMap((operation) =>
    operation.outcome.is === "written" ? [{ operation, revision: operation.outcome.revision }] : [],
  );
  const byRevision = new Map<Revision, HistoryOperation>();
  for (const { operation, revision } of writes) {
    const other = byRevision.get(revision);
    if (other) return `${describe(operation)} has the revision of ${describe(other)}`;
    byRevision.set(revision, operation);
  }
  const byReturn = writes.toSorted((a, b) => a.operation.returned - b.operation.returned);
  let next = 0;
  let newest: (typeof writes)[number] | undefined;
  for (const write of writes.toSorted((a, b) => a.operation.called - b.operation.called)) {
    for (let past = byReturn[next]; past && past.operation.returned < write.operation.called; past = byReturn[++next])
      if (!newest || past.revision > newest.revision) newest = past;
    if (newest && newest.revision > write.revision)
      return `${describe(write.operation)} began after ${describe(newest.operation)} had ended`;
  }
  return undefined;
}

/** `put /a="x" if 3 → written 5 [7, 9]`, the numbers in brackets being when it was called and returned. */
export function describe({ kind, key, value, expected, called, returned, outcome }: HistoryOperation): string {
  const show = (seen: Seen | undefined) => (seen ? `${JSON.stringify(seen.value)}@${seen.modified}` : "nothing");
  const asked = kind === "get" ? "" : ` if ${expected}`;
  const result =
    outcome.is === "written"
      ? `written ${outcome.revision}`
      : outcome.is === "unknown"
        ? "unknown"
        : `${outcome.is} ${show(outcome.present)}`;
  return `${kind} ${key}${value === undefined ? "" : `=${JSON.stringify(value)}`}${asked} → ${result} [${called}, ${returned}]`;
}
