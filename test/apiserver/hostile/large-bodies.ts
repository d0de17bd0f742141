// Large bodies drawn from a seed: objects of which some parts together are as large as a body may be, in every format, and texts that
// are large in ways that no object is.
import type { Random } from "#base/random.ts";
import { decodeValue } from "#schema/decode.ts";
import type { AnyKind } from "#schema/kind.ts";
import { hasProtobuf } from "#schema/protobuf/message.ts";
import { named } from "#wire/codec.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { type LargePart, largeParts } from "./large-objects.ts";

export interface DrawnBody {
  readonly type: string;
  readonly bytes: Uint8Array;
}

export interface DrawnObject {
  readonly kind: AnyKind;
  /** Which parts are large. */
  readonly parts: string;
  readonly object: Readonly<Record<string, unknown>>;
}

const mostBytes = 3_000_000;
const mostValues = 75_000;
const mostParts = 4;

export class LargeBodies {
  readonly #random: Random;
  readonly #kinds: readonly (readonly [AnyKind, readonly LargePart[]])[];

  constructor(random: Random, kinds: (kind: AnyKind) => boolean = () => true) {
    this.#random = random;
    this.#kinds = [...Map.groupBy(largeParts(), ({ kind }) => kind)].filter(([kind]) => kinds(kind));
  }

  /** With so much of what a body may have: a share of 1 is as large as may be. */
  object(share: number, wanted?: AnyKind): DrawnObject {
    const [kind, all] = this.#kinds.find(([one]) => one === wanted) ?? this.oneOf(this.#kinds);
    const wide = all.filter(({ is, name }) => is !== "text" && !name.includes(" metadata."));
    const parts = Array.from({ length: 1 + this.#random.below(mostParts) }, () =>
      this.oneOf(wide.length > 0 && this.chance(0.75) ? wide : all),
    );
    let object: Readonly<Record<string, unknown>> | undefined;
    const names: string[] = [];
    for (const part of new Set(parts)) {
      const ofPart = share / parts.length;
      // One part may go where another stands; then that is all there is of the two.
      try {
        object = part.of(countFor(part, ofPart), object);
        names.push(part.name);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
    return { kind, parts: names.join(" and "), object: object ?? parts[0]!.of(1) };
  }

  body({ kind, object }: DrawnObject): DrawnBody {
    switch (this.#random.below(6)) {
      case 0:
        return { type: "application/yaml", bytes: this.#cut(printYaml(object)) };
      case 1:
        return { type: "application/yaml", bytes: this.#cut(JSON.stringify(object)) };
      case 2:
        return this.#protobuf(kind, object) ?? this.#json(object);
      case 3:
        return { type: "application/json", bytes: this.#cut(this.#spoilt(JSON.stringify(object))) };
      default:
        return this.#json(object);
    }
  }

  /** What no object is: unknown fields, keys that stand twice or are escaped, deep nests, long texts, numbers, aliases. */
  text(kind: AnyKind): DrawnBody {
    const name = this.oneOf(Object.keys(texts));
    const write = texts[name] as (count: number) => string;
    const perItem = (write(200).length - write(100).length) / 100;
    const count = Math.max(1, Math.floor((mostBytes * this.share()) / perItem));
    const inner = write(Math.min(count, name.startsWith("long") ? count : mostValues));
    const head = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: "drawn" } };
    if (name.startsWith("yaml")) return { type: "application/yaml", bytes: this.#cut(`${printYaml(head)}${inner}`) };
    return { type: "application/json", bytes: this.#cut(`${JSON.stringify(head).slice(0, -1)},${inner}}`) };
  }

  /** Mostly near the limit, where it hurts. */
  share(): number {
    return this.chance(0.7) ? 0.8 + 0.2 * this.#random.next() : this.#random.next();
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  oneOf<T>(items: readonly T[]): T {
    return items[this.#random.below(items.length)]!;
  }

  #json = (object: object): DrawnBody => ({ type: "application/json", bytes: this.#cut(JSON.stringify(object)) });

  #protobuf(kind: AnyKind, object: object): DrawnBody | undefined {
    if (!hasProtobuf(kind.struct)) return undefined;
    try {
      const bytes = protobufCodec.encode(named(kind), decodeValue(kind, structuredClone(object)).object);
      return { type: protobufCodec.mediaType, bytes: bytes.subarray(0, mostBytes) };
    } catch {
      return undefined; // drawn for JSON, and not of a form that protobuf has
    }
  }

  /** Something wrong somewhere: a broken end, a field of another type, a key again. */
  #spoilt(text: string): string {
    const at = this.#random.below(text.length);
    return this.oneOf([
      text.slice(0, at),
      text.replaceAll('"x', '"X_!'),
      text.replaceAll('"name":', '"name":1,"name":'),
      text.replaceAll(":1", ":1.0"),
      text.replaceAll('"x', '"\\\\u0078'),
      `${text.slice(0, at)}\u0001${text.slice(at)}`,
    ]);
  }

  #cut(text: string): Uint8Array {
    return Buffer.from(text).subarray(0, mostBytes);
  }
}

/** So many that the part takes that share of the bytes or of the values that a body may have. */
export function countFor(part: LargePart, share: number, bytes = mostBytes): number {
  const [some, more] = [1100, 1200].map((count) => JSON.stringify(part.of(count))) as [string, string];
  const perBytes = (more.length - some.length) / 100;
  const perValues = (valuesIn(more) - valuesIn(some)) / 100 + (part.is === "list" ? 1 : part.is === "text" ? 0 : 2);
  const most = Math.min(bytes / Math.max(perBytes, 1), perValues === 0 ? bytes : mostValues / perValues);
  return Math.max(1, Math.floor(0.98 * share * most));
}

const valuesIn = (text: string): number => text.split(/[,{[]/).length;

const many = (count: number, make: (i: number) => string, between = ","): string =>
  Array.from({ length: count }, (_, i) => make(i)).join(between);

const texts: Readonly<Record<string, (count: number) => string>> = {
  "unknown fields": (count) => many(count, (i) => `"u${i}":1`),
  "unknown lists": (count) => `"u":[${many(count, () => "[]")}]`,
  "unknown objects": (count) => `"u":[${many(count, (i) => `{"k${i}":1}`)}]`,
  "the same field": (count) => many(count, () => `"status":{}`),
  "the same map": (count) => `"data":{${many(count, () => `"a":"b"`)}}`,
  "escaped keys": (count) => `"data":{${many(count, (i) => `"\\u0061${i}":"\\\\"`)}}`,
  "keys with backslashes": (count) => `"data":{${many(count, (i) => `"\\\\${i}":""`)}}`,
  numbers: (count) => `"data":[${many(count, (i) => `${i}.0`)}]`,
  "large numbers": (count) => `"spec":{${many(count, (i) => `"n${i}":1e${i % 400}`)}}`,
  nests: (count) => `"u":[${many(Math.ceil(count / 400), () => "[".repeat(400) + "]".repeat(400))}]`,
  "nests too deep": (count) => `"u":${"[".repeat(count)}`,
  labels: (count) => `"metadata":{"name":"drawn","labels":{${many(count, (i) => `"k${i}":"v"`)}}}`,
  "long text": (count) => `"data":{"a":"${"x".repeat(count)}"}`,
  "long text of escapes": (count) => `"data":{"a":"${"\\u00e9\\n".repeat(count)}"}`,
  "long text of quotes": (count) => `"data":{"a":"${'\\"'.repeat(count)}"}`,
  "long name": (count) => `"metadata":{"name":"${"x.".repeat(count)}"}`,
  "long spaces": (count) => `"data":{}${" ".repeat(count)}`,
  "yaml aliases": (count) =>
    `a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\ndata:\n${many(count, (i) => `  k${i}: *b`, "\n")}`,
  "yaml of few aliases": () =>
    `a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c]`,
  "yaml anchors": (count) => `data:\n${many(count, (i) => `  k${i}: &a${i} v\n  l${i}: *a${i}`, "\n")}`,
  "yaml merges": (count) => `x: &x {a: b}\ndata:\n${many(count, () => "  <<: *x", "\n")}`,
  "yaml documents": (count) => many(count, () => "a: b", "\n---\n"),
  "yaml documents of aliases": (count) => `---\n${many(count, () => "a: &a [x, x]\nb: [*a, *a, *a]", "\n---\n")}`,
  "yaml keys that stand twice": (count) => `data:\n${many(count, () => "  a: b", "\n")}`,
  "yaml flows": (count) => `data: {${many(count, (i) => `k${i}: [v, {}]`)}}`,
  "yaml blocks": (count) => `data:\n  a: |\n${many(count, () => "    text", "\n")}`,
  "yaml numbers": (count) => `data:\n${many(count, (i) => `- 0x${i.toString(16)}`, "\n")}`,
};
