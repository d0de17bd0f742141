// A set of fields, and what can be done with two of them. A set IS its FieldsV1 document: a tree of path elements in
// upstream's order, where `{}` is a field that belongs to the set, and `"."` says so of one that has parts in the set as
// well. Nothing is decoded or encoded between the store and this code. Sets are never changed: an operation
// that takes nothing away and adds nothing answers with the very set it was given, so what did not change stays
// the same object, and operations with a small set cost what the small set costs.
import { inElementOrder } from "./element.ts";

export interface FieldSet {
  readonly [element: string]: FieldSet;
}
/** A set that is being built. Elements may come in any order until `inOrder`, and a node without parts is always `emptySet` itself. */
export interface FieldSetDraft {
  [element: string]: FieldSetDraft;
}

/** Of the whole: no field. Inside: a field with no parts of its own. */
export const emptySet: FieldSet = Object.freeze({});
const leaf: any = emptySet;

/** The property that says that a field with parts belongs to the set itself. */
export const self = ".";

export function isEmptySet(set: FieldSet): boolean {
  if (set === emptySet) return true;
  for (const _ in set) return false;
  return true;
}

/** Whether the field whose node this is belongs to the set, and not only parts of it. */
const isMember = (node: FieldSet): boolean => isEmptySet(node) || node[self] !== undefined;

/** The set of these paths, each a list of elements. */
export function setOf(...paths: readonly (readonly string[])[]): FieldSet {
  const draft: FieldSetDraft = {};
  for (const path of paths) insert(draft, path);
  return inOrder(draft);
}

/** Adds the field at `path`, with all of `parts` below it. A path of no length is the whole object, which nobody owns. */
export function insert(draft: FieldSetDraft, path: readonly string[], parts: FieldSet = emptySet): void {
  let node = draft;
  for (let i = 0; i < path.length - 1; i++) {
    const element = path[i] as string;
    let next = node[element];
    // To look whether a wide node has parts, V8 lists them all, and an item is inserted for each of them.
    if (next === undefined || next === emptySet) {
      next = next === undefined ? {} : { [self]: leaf };
      node[element] = next;
    }
    node = next;
  }
  const last = path[path.length - 1];
  if (last === undefined) return;
  const present = node[last];
  node[last] = (present === undefined ? parts : unite(present, parts)) as FieldSetDraft;
}

/** A finished draft: every level in upstream's order. */
export function inOrder(node: FieldSet): FieldSet {
  const elements = Object.keys(node);
  const out: Record<string, FieldSet> = {};
  let isSame = true;
  for (const [i, element] of inElementOrder(elements).entries()) {
    const part = node[element] as FieldSet;
    const ordered = isEmptySet(part) ? leaf : inOrder(part);
    isSame &&= ordered === part && element === elements[i];
    out[element] = ordered;
  }
  return isSame ? node : out;
}

const finished = new Map<string, FieldSet>();
const finishedParts = new Map<string, FieldSet>();
const mostFinished = 1000;
/** Larger sets are not interned: clients that send many would fill the memory, and making their key takes long. */
const mostElements = 1000;

/**
 * A finished draft, the same object for equal drafts as long as there are not too many others: what one client makes, it makes
 * again and again. Of a pod's memory the sets would be three fifths, and to bring one in order takes longer than to find it here.
 * Where an address makes every pod's status different, at least the fields of the status without one are the same.
 */
export const shared = (draft: FieldSet): FieldSet =>
  elementsLeft(draft, mostElements) === 0
    ? inOrder(draft)
    : remembered(finished, draft, (whole) =>
        withParts(whole, (top) => withParts(top, (part) => remembered(finishedParts, part, inOrder))),
      );

function remembered(interned: Map<string, FieldSet>, draft: FieldSet, finish: (draft: FieldSet) => FieldSet): FieldSet {
  const text = JSON.stringify(draft);
  const present = interned.get(text);
  if (present) return present;
  if (interned.size >= mostFinished) {
    const oldest = interned.keys().next();
    if (!oldest.done) interned.delete(oldest.value);
  }
  const set = finish(draft);
  interned.set(text, set);
  return set;
}

/** How many of so many elements a set does not have. */
function elementsLeft(set: FieldSet, most: number): number {
  let left = most;
  for (const element in set) {
    left = elementsLeft(set[element] as FieldSet, left - 1);
    if (left <= 0) return 0;
  }
  return left;
}

function withParts(node: FieldSet, finish: (part: FieldSet) => FieldSet): FieldSet {
  const out: Record<string, FieldSet> = {};
  for (const element in node) {
    const part = node[element] as FieldSet;
    out[element] = isEmptySet(part) ? leaf : finish(part);
  }
  return sorted(out);
}

function sorted(node: FieldSet): FieldSet {
  const elements = Object.keys(node);
  const ordered = inElementOrder(elements);
  if (elements.every((element, i) => element === ordered[i])) return node;
  const out: Record<string, FieldSet> = {};
  for (const element of ordered) out[element] = node[element] as FieldSet;
  return out;
}

/** The node as a member: it and its parts. */
export const asMember = (node: FieldSet | undefined): FieldSet => (node === undefined ? leaf : unite(node, leaf));

/** What is in either. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b)) return a;
  return isEmptySet(a) ? b : unite(a, b);
}

/** What is in any of them. Two by two, so that each is copied a few times only. */
export function unionOf(sets: readonly FieldSet[]): FieldSet {
  if (sets.length <= 2) return union(sets[0] ?? emptySet, sets[1] ?? emptySet);
  const middle = sets.length >> 1;
  return union(unionOf(sets.slice(0, middle)), unionOf(sets.slice(middle)));
}

/** Whether the set has more elements than that. */
export function isWiderThan(set: FieldSet, most: number): boolean {
  let left = most;
  const visit = (node: FieldSet): boolean => {
    for (const element in node) if (--left < 0 || visit(node[element] as FieldSet)) return true;
    return false;
  };
  return visit(set);
}

function unite(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isEmptySet(b)) return isMember(a) ? a : { [self]: leaf, ...a };
  if (isEmptySet(a)) return isMember(b) ? b : { [self]: leaf, ...b };
  let copy: Record<string, FieldSet> | undefined;
  let grown = false;
  for (const element in b) {
    const theirs = b[element] as FieldSet;
    const ours = a[element];
    const both = ours === undefined ? theirs : unite(ours, theirs);
    if (both === ours) continue;
    copy ??= { ...a };
    copy[element] = both;
    grown ||= ours === undefined;
  }
  if (copy === undefined) return a;
  return grown ? sorted(copy) : copy;
}

/** What is in both. Costs what `b` costs: pass the smaller one there. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return emptySet;
  return intersect(a, b) ?? emptySet;
}

function intersect(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const member = isMember(a) && isMember(b);
  let out: Record<string, FieldSet> | undefined;
  for (const element in b) {
    const ours = a[element];
    if (ours === undefined || element === self) continue;
    const both = intersect(ours, b[element] as FieldSet);
    if (both === undefined) continue;
    out ??= member ? { [self]: leaf } : {};
    out[element] = both;
  }
  return out ?? (member ? leaf : undefined);
}

/** What is in `a` and not in `b`. A field in `b` takes away that field alone, not its parts. The smaller of the two is walked; defaults to `b`. */
export const difference = (a: FieldSet, b: FieldSet, smaller: "a" | "b" = "b"): FieldSet =>
  subtract(a, b, false, smaller);

/** What is in `a`, without all fields in `b` and whatever lies below them. */
export const recursiveDifference = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, true);

const subtract = (a: FieldSet, b: FieldSet, recursive: boolean, smaller: "a" | "b" = "b"): FieldSet =>
  isEmptySet(a) || isEmptySet(b) ? a : (minus(a, b, recursive, smaller) ?? emptySet);

function minus(a: FieldSet, b: FieldSet, recursive: boolean, smaller: "a" | "b"): FieldSet | undefined {
  if (isMember(b)) {
    if (recursive || isEmptySet(a)) return undefined;
    if (isEmptySet(b)) return a[self] === undefined ? a : rebuilt(a, new Map([[self, undefined]]));
  }
  let changes: Map<string, FieldSet | undefined> | undefined;
  for (const element in smaller === "a" ? a : b) {
    const ours = a[element];
    const theirs = b[element];
    if (ours === undefined || theirs === undefined) continue;
    const left = element === self ? undefined : minus(ours, theirs, recursive, smaller);
    if (left === ours) continue;
    changes ??= new Map();
    changes.set(element, left);
  }
  return changes ? rebuilt(a, changes) : a;
}

function rebuilt(node: FieldSet, changes: ReadonlyMap<string, FieldSet | undefined>): FieldSet | undefined {
  const out: Record<string, FieldSet> = {};
  let parts = 0;
  for (const element in node) {
    const part = changes.has(element) ? changes.get(element) : node[element];
    if (part === undefined) continue;
    out[element] = part;
    if (element !== self) parts++;
  }
  if (parts > 0) return out;
  return out[self] === undefined ? undefined : leaf;
}

export function has(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node[element];
    if (node === undefined) return false;
  }
  return path.length > 0 && isMember(node);
}

/** What lies below the element, as a set of its own; whether the element itself belongs to the set is not part of it. */
export function below(set: FieldSet, element: string): FieldSet {
  const node = set[element];
  if (node === undefined || node[self] === undefined) return node ?? emptySet;
  return rebuilt(node, new Map([[self, undefined]])) ?? emptySet;
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  for (const element in b) if (a[element] === undefined) return false;
  for (const element in a) {
    const theirs = b[element];
    if (theirs === undefined || !equalSets(a[element] as FieldSet, theirs)) return false;
  }
  return true;
}

/** All paths in the set, in the order in which upstream lists them: the fields of a level before their parts. */
export function pathsOf(set: FieldSet): readonly (readonly string[])[] {
  const paths: (readonly string[])[] = [];
  const visit = (node: FieldSet, prefix: readonly string[]) => {
    const elements = Object.keys(node).filter((element) => element !== self);
    for (const element of elements) if (isMember(node[element] as FieldSet)) paths.push([...prefix, element]);
    for (const element of elements) visit(node[element] as FieldSet, [...prefix, element]);
  };
  visit(set, []);
  return paths;
}
