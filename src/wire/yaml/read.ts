// YAML to JSON values, as Kubernetes reads it: through Go's yaml.v2, whose rules for scalars, keys, merges and aliases are kept. The
// syntax is js-yaml's affair; what the events mean, and how much they may cost, is decided here.

import {
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  YAMLException,
} from "js-yaml";
import { fromBase64 } from "#base/base64.ts";
import { setOwn } from "#base/collections.ts";
import { DecodeError, manyMembers, maxDepth, tooManyValues } from "#schema/json.ts";
import { exactInteger } from "#schema/structural/exact-integers.ts";
import { formatFloat } from "./float.ts";
import { resolvePlain, type YamlScalar } from "./resolve.ts";

export interface YamlDocument {
  readonly value: unknown;
  /** The value with integers of 64 bits that a double cannot hold as bigint. Shares its objects with `value` if there are none. */
  exactValue(): unknown;
  /** Keys that stand twice in one mapping, in upstream's words; the last one counts. */
  readonly duplicates: readonly string[];
}

/** The first document, as upstream reads a body; null if there is none. Throws DecodeError, and ApiError 413 if it has more values than that. */
export function parseYaml(text: string, mostValues?: number): YamlDocument {
  const [first] = rootsOf(text, mostValues);
  return new Evaluation(text, mostValues).run(first);
}

export const parseYamlDocuments = (text: string): readonly YamlDocument[] =>
  rootsOf(text).map((root) => new Evaluation(text).run(root));

/** A value of a mapping makes the most: a key, a collection and its end. */
const eventsPerValue = 3;

function rootsOf(text: string, mostValues = Number.POSITIVE_INFINITY): readonly (Node | undefined)[] {
  let events: readonly Event[];
  try {
    events = parseEvents(text, { maxDepth });
  } catch (error) {
    if (error instanceof YAMLException) throw new DecodeError(`invalid YAML: ${position(error)}${error.reason}`);
    throw error;
  }
  // What is surely too much does not become a tree first.
  if (events.length > eventsPerValue * mostValues + manyMembers) throw tooManyValues(mostValues);
  return new Builder(text, events).documents();
}

const position = ({ mark }: YAMLException): string => (mark ? `line ${mark.line + 1}: ` : "");

type Node =
  | {
      readonly is: "scalar";
      readonly start: number;
      readonly text: string;
      readonly tag: string;
      readonly isPlain: boolean;
    }
  | { readonly is: "sequence"; readonly items: Node[] }
  | { readonly is: "mapping"; readonly start: number; readonly pairs: (readonly [key: Node, value: Node])[] }
  | { readonly is: "alias"; readonly name: string; readonly to: Node };

/** Makes trees of the events. An alias refers to its target; it is not copied yet. */
class Builder {
  readonly #source: string;
  readonly #events: readonly Event[];
  #anchors = new Map<string, Node>();
  #at = 0;

  constructor(source: string, events: readonly Event[]) {
    this.#source = source;
    this.#events = events;
  }

  documents(): readonly (Node | undefined)[] {
    const documents: (Node | undefined)[] = [];
    for (let event = this.#next(); event; event = this.#next()) {
      if (event.type !== EVENT_ID.DOCUMENT) continue;
      this.#anchors = new Map();
      documents.push(this.#node());
    }
    return documents;
  }

  #next(): Event | undefined {
    return this.#events[this.#at++];
  }

  /** Undefined at the end of the collection or document around it. */
  #node(): Node | undefined {
    const event = this.#next();
    if (event === undefined || event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT) return undefined;
    if (event.type === EVENT_ID.ALIAS) {
      const name = this.#source.slice(event.anchorStart, event.anchorEnd);
      const to = this.#anchors.get(name);
      if (!to) throw new DecodeError(`invalid YAML: unknown anchor '${name}' referenced`);
      return { is: "alias", name, to };
    }
    const node: Node = event.type === EVENT_ID.SCALAR ? this.#scalar(event) : emptyCollection(event);
    if (event.anchorStart >= 0) this.#anchors.set(this.#source.slice(event.anchorStart, event.anchorEnd), node);
    if (node.is === "sequence") for (let item = this.#node(); item; item = this.#node()) node.items.push(item);
    if (node.is === "mapping")
      for (let key = this.#node(); key; key = this.#node()) {
        const value = this.#node();
        if (value) node.pairs.push([key, value]);
      }
    return node;
  }

  #scalar(event: ScalarEvent): Node {
    return {
      is: "scalar",
      start: event.valueStart,
      text: getScalarValue(this.#source, event),
      tag: event.tagStart < 0 ? "" : this.#source.slice(event.tagStart, event.tagEnd),
      isPlain: event.style === SCALAR_STYLE.PLAIN,
    };
  }
}

const emptyCollection = (event: { readonly type: number; readonly start: number }): Node =>
  event.type === EVENT_ID.SEQUENCE ? { is: "sequence", items: [] } : { is: "mapping", start: event.start, pairs: [] };

/** More would only fill the answer. */
const mostDuplicates = 100;

/** Up to this many values nearly all may come from aliases; the allowed share falls to a tenth at ten times as many, as upstream has it. */
const freelyAliased = 400_000;

/** What aliases may add in text. A long string is a single node however often it is named, so counting nodes does not bound it. */
const mostAliasedText = 3 * 1024 * 1024;

/** Turns one document into JSON values. Every alias becomes a copy, so the result is a tree that its holder may change. */
class Evaluation {
  readonly #source: string;
  readonly #mostValues: number;
  readonly #duplicates: string[] = [];
  /** Filled when a line is first asked for, so that a text full of faults is not counted through for each of them. */
  readonly #lineStarts: number[] = [];
  readonly #open = new Set<Node>();
  #values = 0;
  #nodes = 0;
  #aliased = 0;
  #aliasedText = 0;
  #aliasDepth = 0;
  #depth = 0;
  readonly #isExact: boolean;
  /** Whether an integer was met that a double cannot hold. */
  #isRounded = false;

  constructor(source: string, mostValues = Number.POSITIVE_INFINITY, isExact = false) {
    this.#source = source;
    this.#mostValues = mostValues;
    this.#isExact = isExact;
  }

  run(root: Node | undefined): YamlDocument {
    const value = root ? this.#value(root) : null;
    const exactValue = () =>
      this.#isRounded ? new Evaluation(this.#source, this.#mostValues, true).run(root).value : value;
    return { value, exactValue, duplicates: this.#duplicates };
  }

  #scalar(value: YamlScalar): unknown {
    const digits = typeof value === "object" ? value?.digits : undefined;
    if (digits === undefined) return jsonValue(value);
    this.#isRounded = !this.#isExact;
    return (this.#isExact ? exactInteger(digits) : undefined) ?? jsonValue(value);
  }

  #value(node: Node): unknown {
    this.#count(node);
    switch (node.is) {
      case "scalar":
        return this.#scalar(resolve(node));
      case "alias":
        return this.#follow(node, () => this.#value(node.to));
      case "sequence":
        return this.#nested(() =>
          node.items.map((item, i) => {
            this.#countMember(i, 2);
            return this.#value(item);
          }),
        );
      case "mapping":
        return this.#nested(() => {
          const object: Record<string, unknown> = {};
          this.#fill(object, node.pairs);
          return object;
        });
    }
  }

  #fill(object: Record<string, unknown>, pairs: readonly (readonly [Node, Node])[]): void {
    for (const [i, [keyNode, valueNode]] of pairs.entries()) {
      this.#countMember(i, 3);
      if (isMerge(keyNode)) {
        this.#merge(object, valueNode);
        continue;
      }
      const key = this.#key(keyNode);
      const value = this.#value(valueNode);
      if (Object.hasOwn(object, key) && this.#duplicates.length < mostDuplicates)
        this.#duplicates.push(`line ${this.#line(keyNode)}: key ${JSON.stringify(key)} already set in map`);
      setOwn(object, key, value);
    }
  }

  /** What is merged stands where the merge stands: it wins over what came before, and loses to what comes after. */
  #merge(object: Record<string, unknown>, node: Node): void {
    this.#count(node);
    if (node.is === "mapping") this.#nested(() => this.#fill(object, node.pairs));
    else if (node.is === "alias" && node.to.is === "mapping") this.#follow(node, () => this.#merge(object, node.to));
    else if (node.is === "sequence" && node.items.every(isMapping))
      for (const item of node.items.toReversed()) this.#merge(object, item);
    else throw new DecodeError("invalid YAML: map merge requires map or sequence of maps as the value");
  }

  #key(node: Node): string {
    this.#count(node);
    if (node.is === "alias") return this.#follow(node, () => this.#key(node.to));
    if (node.is !== "scalar") throw new DecodeError("invalid YAML: a key is a list or a map");
    const key = resolve(node);
    if (key === null) throw new DecodeError(`invalid YAML: line ${this.#line(node)}: a key is null`);
    if (typeof key !== "object") return String(key);
    return key.isInteger
      ? (key.digits ?? String(key.value))
      : formatFloat(Math.fround(key.value) === key.value ? key.value : shortest(key.value));
  }

  #follow<T>(node: Node & { readonly is: "alias" }, visit: () => T): T {
    if (this.#open.has(node.to)) throw new DecodeError(`invalid YAML: anchor '${node.name}' value contains itself`);
    this.#open.add(node.to);
    this.#aliasDepth++;
    const result = visit();
    this.#aliasDepth--;
    this.#open.delete(node.to);
    return result;
  }

  /** As in JSON: collections and their members count, and those of a large one more. */
  #countMember(i: number, ifMany: number): void {
    this.#values += i < manyMembers ? 1 : ifMany;
    if (this.#values > this.#mostValues) throw tooManyValues(this.#mostValues);
  }

  #nested<T>(visit: () => T): T {
    this.#values++;
    if (++this.#depth > maxDepth) throw new DecodeError(`invalid YAML: nested more than ${maxDepth} levels deep`);
    const result = visit();
    this.#depth--;
    return result;
  }

  #count(node: Node): void {
    this.#nodes++;
    if (this.#aliasDepth > 0) {
      this.#aliased++;
      if (node.is === "scalar") this.#aliasedText += node.text.length;
    }
    const share = Math.max(0.1, Math.min(0.99, 0.99 - (0.89 * (this.#nodes - freelyAliased)) / (9 * freelyAliased)));
    const isTooMuch = this.#aliased > 100 && this.#nodes > 1000 && this.#aliased / this.#nodes > share;
    if (isTooMuch || this.#aliasedText > mostAliasedText)
      throw new DecodeError("invalid YAML: document contains excessive aliasing");
  }

  #line(node: Node): number {
    if (this.#lineStarts.length === 0)
      for (let at = 0; at >= 0; at = this.#source.indexOf("\n", at) + 1 || -1) this.#lineStarts.push(at);
    const start = node.is === "scalar" ? node.start : 0;
    let low = 0;
    for (let high = this.#lineStarts.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#lineStarts[middle] as number) <= start) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const isMapping = (node: Node): boolean => node.is === "mapping" || (node.is === "alias" && node.to.is === "mapping");
const isMerge = (node: Node): boolean =>
  node.is === "scalar" && node.text === "<<" && (node.tag === "!!merge" || (node.isPlain && node.tag === ""));

/** Upstream prints a float key with the precision of 32 bits. */
const shortest = (value: number): number => {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
};

function resolve({ text, tag, isPlain }: Node & { readonly is: "scalar" }): YamlScalar {
  const short = tag.replace(/^!?<?tag:yaml\.org,2002:([^>]*)>?$/, "!!$1");
  if (short === "" || short === "!") return isPlain && short === "" ? resolvePlain(text) : text;
  if (short === "!!binary") return binary(text);
  const found = resolvePlain(text);
  const kind = kindOf(found);
  if (short === "!!float" && typeof found === "object" && found !== null) return { ...found, isInteger: false };
  if (!["!!bool", "!!int", "!!float", "!!null", "!!timestamp"].includes(short) || short === "!!timestamp") return text;
  if (kind === short) return found;
  throw new DecodeError(`invalid YAML: cannot decode ${kind} \`${text}\` as a ${short}`);
}

function kindOf(value: YamlScalar): string {
  if (value === null) return "!!null";
  if (typeof value === "string") return "!!str";
  if (typeof value === "boolean") return "!!bool";
  return value.isInteger ? "!!int" : "!!float";
}

function binary(text: string): string {
  const bytes = fromBase64(text);
  if (!bytes) throw new DecodeError("invalid YAML: !!binary value contains invalid base64 data");
  return new TextDecoder().decode(bytes);
}

function jsonValue(value: YamlScalar): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!Number.isFinite(value.value))
    throw new DecodeError(`invalid YAML: JSON has no number ${formatFloat(value.value)}`);
  return value.value;
}
