// JSON patch (RFC 6902): a list of operations, done in order, all or none.
//
// Where the library that upstream uses departs from the RFC, so do we, because clients rely on it: `replace` of a key
// that is not there adds it, `add` without a value adds null, `copy` of a key that is not there copies null, indexes may
// be negative, and a path need not start with a slash so long as it has one.

import { atOnce, type StepwiseWork } from "#base/breathe.ts";
import { equal, own, setOwn } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import { PatchError } from "./error.ts";
import { checkDepth, copyObject, isList, jsonSize } from "./value.ts";

export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

const mostOperations = 10_000;
const mostCopiedBytes = 3 * 1024 * 1024;
/** List items moved or copied in all; a patch that inserts at the head of a huge list again and again ends here. */
const mostMovedItems = 20_000_000;
/** To copy or compare a key of an object takes as long as to move so many items of a list. */
const itemsPerKey = 100;

/** The document after all operations; the one given is not changed. Throws PatchError. */
export const applyJsonPatch = (document: unknown, patch: unknown): unknown => atOnce(jsonPatchSteps(document, patch));

/** The same, to be interrupted between operations. */
export function* jsonPatchSteps(document: unknown, patch: unknown): StepwiseWork<unknown> {
  if (!isList(patch))
    throw new PatchError(400, `json: cannot unmarshal ${goKind(patch)} into Go value of type jsonpatch.Patch`);
  for (const operation of patch)
    if (operation !== null && !isObject(operation))
      throw new PatchError(
        400,
        `json: cannot unmarshal ${goKind(operation)} into Go value of type jsonpatch.Operation`,
      );
  if (patch.length > mostOperations)
    throw new PatchError(
      413,
      `The allowed maximum operations in a JSON patch is ${mostOperations}, got ${patch.length}`,
    );
  checkDepth(patch);
  const draft = new Draft(document);
  for (const operation of patch) {
    apply(draft, isObject(operation) ? operation : {});
    yield;
  }
  checkDepth(draft.root);
  return draft.root;
}

/** What a strict reading complains about, as a warning or an error: keys that no operation has. */
export function unknownOperationFields(patch: unknown): readonly string[] {
  const found = (isList(patch) ? patch : []).flatMap((operation, index) =>
    Object.keys(isObject(operation) ? operation : {})
      .filter((key) => !operationFields.has(key))
      .map((key) => `json patch unknown field ${JSON.stringify(`[${index}].${key}`)}`),
  );
  return found.slice(0, mostComplaints);
}

const operationFields: ReadonlySet<string> = new Set(["op", "path", "from", "value"]);
const mostComplaints = 100;

type Operation = Readonly<Record<string, unknown>>;

function apply(draft: Draft, operation: Operation): void {
  const op = own(operation, "op");
  const work = typeof op === "string" ? operations.get(op) : undefined;
  if (!work) throw refusal(`Unexpected kind: ${typeof op === "string" ? op : "unknown"}`);
  work(draft, operation);
}

function add(draft: Draft, operation: Operation): void {
  const path = textOf(operation, "path", () => "add operation failed to decode path: missing value");
  const target = draft.find(path);
  if (!target) throw refusal(`add operation does not apply: doc is missing path: "${path}": missing value`);
  within(`error in add for path: '${path}'`, () => draft.add(target, operandOf(operation)));
}

function remove(draft: Draft, operation: Operation): void {
  const path = textOf(operation, "path", () => "remove operation failed to decode path: missing value");
  const target = draft.find(path);
  if (!target) throw refusal(`remove operation does not apply: doc is missing path: "${path}": missing value`);
  within(`error in remove for path: '${path}'`, () => draft.remove(target));
}

function replace(draft: Draft, operation: Operation): void {
  const path = textOf(operation, "path", (why) => `replace operation failed to decode path: ${why}`);
  const value = operandOf(operation);
  if (path === "") {
    if (typeof value !== "object" || value === null)
      throw refusal("replace operation value must be object or array: %!w(<nil>)");
    draft.reset(value);
    return;
  }
  const target = draft.find(path);
  if (!target) throw refusal(`replace operation does not apply: doc is missing path: ${path}: missing value`);
  try {
    draft.get(target);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw refusal(`replace operation does not apply: doc is missing key: ${path}: missing value`);
  }
  draft.set(target, value);
}

function move(draft: Draft, operation: Operation): void {
  const from = textOf(operation, "from", (why) => `move operation failed to decode from: ${why}`);
  const source = draft.find(from);
  if (!source) throw refusal(`move operation does not apply: doc is missing from path: ${from}: missing value`);
  const value = within(`error in move for path: '${source.key}'`, () => {
    const found = draft.get(source);
    draft.remove(source);
    return found;
  });
  const path = textOf(operation, "path", (why) => `move operation failed to decode path: ${why}`);
  const target = draft.find(path);
  if (!target) throw refusal(`move operation does not apply: doc is missing destination path: ${path}: missing value`);
  within(`error in move for path: '${path}'`, () => draft.add(target, value ?? null));
}

function copy(draft: Draft, operation: Operation): void {
  const from = textOf(operation, "from", (why) => `copy operation failed to decode from: ${why}`);
  const source = draft.find(from);
  if (!source) throw refusal(`copy operation does not apply: doc is missing from path: ${from}: missing value`);
  const value = within(`error in copy for from: '${from}'`, () => draft.get(source)) ?? null;
  const path = textOf(operation, "path", () => "copy operation failed to decode path: missing value");
  draft.share(value);
  const target = draft.find(path);
  if (!target) throw refusal(`copy operation does not apply: doc is missing destination path: ${path}: missing value`);
  within("error while adding value during copy", () => draft.add(target, value));
}

function test(draft: Draft, operation: Operation): void {
  const path = textOf(operation, "path", (why) => `test operation failed to decode path: ${why}`);
  const wanted = operandOf(operation);
  const target = path === "" ? undefined : draft.find(path);
  if (path !== "" && !target) throw refusal(`test operation does not apply: is missing path: ${path}: missing value`);
  const found = target ? within(`error in test for path: '${path}'`, () => draft.get(target)) : draft.root;
  if (isObject(found)) draft.count(Object.keys(found).length * itemsPerKey);
  if (!equal(found ?? null, wanted)) throw refusal(`testing value ${path} failed: test failed`);
}

const operations: ReadonlyMap<string, (draft: Draft, operation: Operation) => void> = new Map([
  ["add", add],
  ["remove", remove],
  ["replace", replace],
  ["move", move],
  ["copy", copy],
  ["test", test],
]);

const operandOf = (operation: Operation): unknown => own(operation, "value") ?? null;

function textOf(operation: Operation, name: "path" | "from", complain: (why: string) => string): string {
  const value = own(operation, name);
  if (typeof value === "string") return value;
  throw refusal(
    complain(
      value === undefined || value === null
        ? `operation${name === "from" ? "," : ""} missing ${name} field: missing value`
        : `json: cannot unmarshal ${goKind(value)} into Go value of type string`,
    ),
  );
}

const refusal = (message: string): PatchError => new PatchError(422, message);

function within<T>(context: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof PatchError && error.code === 422) throw refusal(`${context}: ${error.message}`);
    throw error;
  }
}

const goKind = (value: unknown): string =>
  isList(value) ? "array" : value === null ? "null" : typeof value === "boolean" ? "bool" : typeof value;

/** A place in the document: a key of an object, or an index of a list. */
interface PatchLocation {
  readonly container: Record<string, unknown> | unknown[];
  readonly key: string;
}

/** A document that is copied where it is changed, and only there. */
class Draft {
  root: unknown;
  /** Containers made here, which may be changed. */
  #mine = new Set<object>();
  #copiedBytes = 0;
  #movedItems = 0;

  constructor(document: unknown) {
    this.root = document;
  }

  reset(document: unknown): void {
    this.root = document;
  }

  /** The place a path names, if all on the way to it is there. What is on the way becomes ours to change. */
  find(path: string): PatchLocation | undefined {
    const [, ...parts] = path.split("/");
    const key = parts.pop();
    if (key === undefined || typeof this.root !== "object" || this.root === null) return undefined;
    this.root = this.#own(this.root);
    let container = this.root as PatchLocation["container"];
    for (const part of parts.map(decode)) {
      const next = Array.isArray(container) ? container[existingIndex(container, part)] : own(container, part);
      if (typeof next !== "object" || next === null) return undefined;
      const ours = this.#own(next);
      if (Array.isArray(container)) container[existingIndex(container, part)] = ours;
      else setOwn(container, part, ours);
      container = ours;
    }
    return { container, key: decode(key) };
  }

  get({ container, key }: PatchLocation): unknown {
    return Array.isArray(container) ? container[indexIn(key, container.length)] : own(container, key);
  }

  set({ container, key }: PatchLocation, value: unknown): void {
    if (Array.isArray(container)) container[indexIn(key, container.length)] = value;
    else setOwn(container, key, value);
  }

  add({ container, key }: PatchLocation, value: unknown): void {
    if (!Array.isArray(container)) setOwn(container, key, value);
    else if (key === "-") container.push(value);
    else {
      const index = indexIn(key, container.length + 1, `value was not a proper array index: '${key}': `);
      this.count(container.length - index);
      container.splice(index, 0, value);
    }
  }

  remove({ container, key }: PatchLocation): void {
    if (Array.isArray(container)) {
      const index = indexIn(key, container.length);
      this.count(container.length - index);
      container.splice(index, 1);
      return;
    }
    if (!Object.hasOwn(container, key)) throw refusal(`Unable to remove nonexistent key: ${key}: missing value`);
    delete container[key];
  }

  /** The value will be in two places: neither may be changed through the other. */
  share(value: unknown): void {
    this.#copiedBytes += jsonSize(value);
    if (this.#copiedBytes > mostCopiedBytes)
      throw refusal(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${mostCopiedBytes}`,
      );
    if (typeof value === "object" && value !== null) this.#mine = new Set();
  }

  #own(container: object): PatchLocation["container"] {
    if (this.#mine.has(container)) return container as PatchLocation["container"];
    const copy = Array.isArray(container) ? [...container] : copyObject(container as Operation);
    this.count(Array.isArray(copy) ? copy.length : Object.keys(copy).length * itemsPerKey);
    this.#mine.add(copy);
    return copy;
  }

  /** Notes work that grows with the document, of which each operation may ask for more. */
  count(items: number): void {
    this.#movedItems += items;
    if (this.#movedItems > mostMovedItems) throw new PatchError(413, "The JSON patch moves too many list items");
  }
}

const decode = (part: string): string => part.replace(/~[01]/g, (found) => (found === "~1" ? "/" : "~"));

/** As Go's Atoi reads it: a sign is allowed, and so are leading zeros. */
function indexIn(text: string, length: number, context = ""): number {
  if (!/^[+-]?[0-9]+$/.test(text))
    throw refusal(`${context}strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  const number = Number(text);
  if (Math.abs(number) >= 2 ** 63)
    throw refusal(`${context}strconv.Atoi: parsing ${JSON.stringify(text)}: value out of range`);
  const index = number < 0 ? number + length : number;
  if (index < 0 || index >= length)
    throw refusal(`Unable to access invalid index: ${number}: invalid index referenced`);
  return index;
}

/** The index on the way to somewhere, or one that is nowhere. */
function existingIndex(list: readonly unknown[], text: string): number {
  const index = /^[+-]?[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  return index < 0 ? index + list.length : index;
}
