// From parsed JSON to an object of a kind, with Go's rules for what is the same as absent: `null` everywhere, and zero,
// "" and empty lists in fields that are not pointers. Works in place on what the parser just made; an object is copied
// only when a field must go, because deleting would turn it into a slow dictionary.
import { setOwn } from "#base/collections.ts";
import { formatDuration, parseDuration } from "#base/duration.ts";
import { base64Fault, goName, goType, mismatchMessage } from "./decode-words.ts";
import type { FieldSpec, Type } from "./field.ts";
import { DecodeError, keyPaths, maxDepth, type ParsedJson, parseJson, WrittenNumber } from "./json.ts";
import type { AnyKind } from "./kind.ts";
import { canonicalQuantity } from "./quantity.ts";
import { noteSentEmpty } from "./sent-empty.ts";
import type { AnyStruct } from "./struct.ts";
import { canonicalMicroTime, canonicalTime } from "./time.ts";

export interface DecodeResult {
  readonly object: Record<string, any>;
  /** Fields that are unknown or stand twice, in upstream's words; `Strict` refuses, `Warn` warns, `Ignore` ignores. */
  readonly strictErrors: readonly string[];
}

/** Upstream's decoder notes no more than these, each once. */
export const mostStrictErrors = 100;

/** Decodes the text of an object. Throws DecodeError for what no mode of validation forgives. */
export function decodeText(subject: AnyKind | AnyStruct, text: string): DecodeResult {
  return decodeParsed(subject, text, parseJson(text, { keepsWritten: true }));
}

/** The same for a text that has been parsed; what was parsed becomes the object and must not be shared. */
export function decodeParsed(subject: AnyKind | AnyStruct, text: string, parsed: ParsedJson): DecodeResult {
  if ("model" in subject) return subject.model.decodeParsed(text, parsed);
  const decoded = decode(subject, parsed.value);
  return decoded.keys === parsed.keys ? decoded : withDuplicates(text, decoded);
}

/** For a text that has more keys than were decoded: some stand twice. */
const withDuplicates = (text: string, { object, strictErrors }: DecodeResult): DecodeResult => ({
  object,
  strictErrors: inTextOrder(text, new Set(strictErrors)),
});

/** The unknown fields among the ones that stand twice. What is unknown is not looked into, so nothing stands twice there. */
function inTextOrder(text: string, unknown: ReadonlySet<string>): readonly string[] {
  const errors = new Set<string>();
  let skipped: string | undefined;
  for (const { path, isRepeated } of keyPaths(text)) {
    if (errors.size === mostStrictErrors) break;
    if (skipped !== undefined && (path.startsWith(`${skipped}.`) || path.startsWith(`${skipped}[`))) continue;
    const asUnknown = `unknown field ${JSON.stringify(path)}`;
    skipped = unknown.has(asUnknown) ? path : undefined;
    if (skipped !== undefined) errors.add(asUnknown);
    else if (isRepeated) errors.add(`duplicate field ${JSON.stringify(path)}`);
  }
  return [...errors];
}

/** Decodes a parsed value, which becomes the object and must not be shared. */
export function decodeValue(subject: AnyKind | AnyStruct, value: unknown): DecodeResult {
  return "model" in subject ? subject.model.decodeValue(value) : decode(subject, value);
}

function decode(struct: AnyStruct, value: unknown): DecodeResult & { readonly keys: number } {
  const at = new DecodePath(struct);
  const object = structDecoder(at.root)(value === null ? {} : value, at) as Record<string, any>;
  return { object, strictErrors: [...at.unknown], keys: at.keys };
}

/** Where the decoder is, what it has met so far. The path is only put together when something is wrong. */
class DecodePath {
  readonly root: AnyStruct;
  readonly path: (string | number)[] = [];
  readonly unknown = new Set<string>();
  keys = 0;
  depth = 0;

  constructor(root: AnyStruct) {
    this.root = root;
  }

  toString(): string {
    return this.path.reduce<string>(
      (text, part) => (typeof part === "number" ? `${text}[${part}]` : text === "" ? part : `${text}.${part}`),
      "",
    );
  }

  /** The value is of the wrong type. */
  mismatch(value: unknown, type: string): DecodeError {
    return new DecodeError(mismatchMessage(this.root, this.path, value, type), this.toString(), {
      mismatch: { value, type },
    });
  }

  /** Each path once, and no more than upstream reports: otherwise a long path with many unknown fields would be repeated for each. */
  noteUnknown(): void {
    if (this.unknown.size < mostStrictErrors) this.unknown.add(`unknown field ${JSON.stringify(this.toString())}`);
  }

  /** The value does not read as what it should be. Upstream's message does not name the field. */
  unreadable(cause: unknown): DecodeError {
    return new DecodeError(cause instanceof Error ? cause.message : String(cause), this.toString());
  }

  /** A limit of this server. */
  refuse(reason: string): DecodeError {
    const path = this.toString();
    return new DecodeError(path === "" ? reason : `${path}: ${reason}`, path);
  }
}

/** Returns the decoded value, or undefined for one that is the same as absent. */
type Decoder = (value: any, at: DecodePath) => unknown;

const compiled = new WeakMap<AnyStruct, Decoder>();

function structDecoder(struct: AnyStruct): Decoder {
  const known = compiled.get(struct);
  if (known) return known;
  // A field is compiled when it is first met: schemas refer to themselves, and most fields of most kinds are never used.
  const specs = new Map(Object.entries(struct.fields as Record<string, { spec: FieldSpec }>));
  const fields = new Map<string, Decoder>();
  const decoderOf = (name: string): Decoder | undefined => {
    const field = specs.get(name);
    if (!field) return undefined;
    const decoder = fieldDecoder(field.spec);
    fields.set(name, decoder);
    return decoder;
  };
  const name = goName(struct);

  const decoder: Decoder = (value: Record<string, unknown>, at) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw at.mismatch(value, name);
    if (++at.depth > maxDepth) throw at.refuse(`nested more than ${maxDepth} levels deep`);
    let dropped: Set<string> | undefined;
    let emptied: Map<string, object> | undefined;
    for (const key in value) {
      at.keys++;
      const field = fields.get(key) ?? decoderOf(key);
      at.path.push(key);
      const before = value[key];
      let after: unknown;
      if (field) after = before === null ? undefined : field(before, at);
      else {
        at.noteUnknown();
        at.keys += keysInside(before, at);
      }
      at.path.pop();
      if (after === undefined) {
        dropped ??= new Set();
        dropped.add(key);
        if (field && isEmptyCollection(before)) {
          emptied ??= new Map();
          emptied.set(key, before);
        }
      } else if (after !== before) value[key] = after;
    }
    at.depth--;
    if (!dropped) return value;
    const kept = without(value, dropped);
    if (emptied) noteSentEmpty(kept, emptied);
    return kept;
  };
  compiled.set(struct, decoder);
  return decoder;
}

function isEmptyCollection(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  for (const _ in value) return false;
  return true;
}

function without(value: Record<string, unknown>, dropped: ReadonlySet<string>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const key in value) if (!dropped.has(key)) kept[key] = value[key];
  return kept;
}

function fieldDecoder(spec: FieldSpec): Decoder {
  const decoder = typeDecoder(spec.type);
  if (spec.gateOff) return (value, at) => void decoder(value, at);
  if (spec.pointer || spec.always || spec.keepsEmpty || (spec.required && !spec.omitEmpty) || spec.type.is === "struct")
    return decoder;
  switch (spec.type.is) {
    case "list":
      return (value, at) => {
        const items = decoder(value, at) as unknown[];
        return items.length === 0 ? undefined : items;
      };
    case "map":
      return (value, at) => {
        const entries = decoder(value, at) as object;
        for (const _ in entries) return entries;
        return undefined;
      };
    case "string":
    case "bytes":
    case "int32":
    case "int64":
    case "double":
    case "bool":
    case "time":
    case "microTime":
      return (value, at) => decoder(value, at) || undefined;
    default:
      return decoder;
  }
}

function typeDecoder(type: Type): Decoder {
  switch (type.is) {
    case "string":
      return decodeString;
    case "bool":
      return (value, at) => {
        if (typeof value !== "boolean") throw at.mismatch(value, "bool");
        return value;
      };
    case "int32":
      return (value, at) => {
        if (value !== (value | 0)) throw at.mismatch(value, "int32");
        return value + 0; // never -0, which JSON could not tell from 0
      };
    case "int64":
      return decodeInt64;
    case "double":
      return (value, at) => {
        const number = value instanceof WrittenNumber ? value.valueOf() : value;
        if (typeof number !== "number" || !Number.isFinite(number)) throw at.mismatch(value, "float64");
        return number;
      };
    case "bytes":
      return decodeBytes;
    case "time":
      return (value, at) => guarded(value, at, canonicalTime);
    case "microTime":
      return (value, at) => guarded(value, at, canonicalMicroTime);
    case "duration":
      return (value, at) => guarded(value, at, canonicalDuration);
    case "quantity":
      return decodeQuantity;
    case "intOrString":
      return (value, at) => {
        if (typeof value === "string") return decodeString(value, at);
        if (value !== (value | 0)) throw at.mismatch(value, "int32");
        return value;
      };
    // Whether it is an object is for those to check who read it.
    case "rawExtension":
      return decodeJson;
    case "fieldsV1":
      return (value, at) => {
        if (typeof value !== "object" || Array.isArray(value)) throw at.mismatch(value, "runtime.RawExtension");
        return decodeJson(value, at);
      };
    case "json":
      return decodeJson;
    case "struct":
      return lazily(() => structDecoder(type.struct()));
    case "list":
      return listDecoder(typeDecoder(type.item), type);
    case "map":
      return mapDecoder(typeDecoder(type.value), type);
    case "either": {
      const struct = lazily(() => structDecoder(type.either.struct()));
      const other = typeDecoder(type.either.other);
      const { ignoresRest } = type.either;
      return (value, at) => {
        if (typeof value === "object" && !Array.isArray(value)) return struct(value, at);
        return ignoresRest && typeof value !== "object" ? [] : other(value, at);
      };
    }
  }
}

const lazily = (make: () => Decoder): Decoder => {
  let decoder: Decoder | undefined;
  return (value, at) => {
    decoder ??= make();
    return decoder(value, at);
  };
};

function listDecoder(item: Decoder, type: Type): Decoder {
  return (values: unknown[], at) => {
    if (!Array.isArray(values)) throw at.mismatch(values, goType(type));
    for (let i = 0; i < values.length; i++) {
      const before = values[i];
      at.path.push(i);
      const after = before === null ? zeroOf((type as { item: Type }).item) : item(before, at);
      at.path.pop();
      if (after !== before) values[i] = after;
    }
    return values;
  };
}

function mapDecoder(decodeEntry: Decoder, type: Type): Decoder {
  return (entries: Record<string, unknown>, at) => {
    if (typeof entries !== "object" || Array.isArray(entries)) throw at.mismatch(entries, goType(type));
    for (const key in entries) {
      at.keys++;
      const before = entries[key];
      at.path.push(key);
      if (!key.isWellFormed()) throw at.refuse("the key has half a surrogate pair");
      const after = before === null ? zeroOf((type as { value: Type }).value) : decodeEntry(before, at);
      at.path.pop();
      if (after !== before) setOwn(entries, key, after);
    }
    return entries;
  };
}

const decodeString: Decoder = (value, at) => {
  if (typeof value !== "string") throw at.mismatch(value, "string");
  return value.isWellFormed() ? value : value.toWellFormed(); // as Go does with half a surrogate pair
};

const decodeInt64: Decoder = (value, at) => {
  if (!Number.isInteger(value)) throw at.mismatch(value, "int64");
  if (!Number.isSafeInteger(value)) throw at.refuse(`${value} is beyond ±2^53, which this server cannot hold exactly`);
  return value + 0;
};

/** Go hands the text of whatever stands there to the parser of quantities, so nothing is of the wrong type. */
const decodeQuantity: Decoder = (value, at) => {
  try {
    return canonicalQuantity(value instanceof WrittenNumber ? value.text : typeof value === "object" ? "" : value);
  } catch (cause) {
    throw at.unreadable(cause);
  }
};

function guarded(value: unknown, at: DecodePath, canonical: (text: string) => string): string {
  if (typeof value !== "string") throw at.mismatch(value, "string");
  try {
    return canonical(value);
  } catch (cause) {
    throw at.unreadable(cause);
  }
}

const canonicalDuration = (text: string): string => formatDuration(parseDuration(text));

/** Base64 with padding, as Go reads it: line breaks are allowed, everything else must be exact. */
const decodeBytes: Decoder = (value, at) => {
  if (typeof value !== "string") throw at.mismatch(value, "[]uint8");
  const text = /[\r\n]/.test(value) ? value.replace(/[\r\n]+/g, "") : value;
  const padding = text.length - text.search(/=?=?$/);
  if (text.length % 4 !== 0 || text.search(/[^A-Za-z0-9+/]/) !== (padding === 0 ? -1 : text.length - padding))
    throw at.unreadable(`illegal base64 data at input byte ${base64Fault(value)}`);
  return text;
};

/** Any JSON value: only numbers that overflowed and half surrogate pairs have to be looked for. */
const decodeJson: Decoder = (value, at) => {
  if (typeof value === "number" && !Number.isFinite(value)) throw at.mismatch(value, "float64");
  if (typeof value === "string") return decodeString(value, at);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof WrittenNumber) {
    if (!Number.isFinite(value.valueOf())) throw at.mismatch(value, "float64");
    return value.valueOf();
  }
  if (++at.depth > maxDepth) throw at.refuse(`nested more than ${maxDepth} levels deep`);
  const isList = Array.isArray(value);
  for (const key in value) {
    if (!isList) at.keys++;
    at.path.push(isList ? Number(key) : key);
    const after = decodeJson(value[key], at);
    at.path.pop();
    if (after !== value[key]) setOwn(value, key, after);
  }
  at.depth--;
  return value;
};

/** What lies under an unknown field is not decoded, but its keys count. */
function keysInside(value: unknown, at: DecodePath): number {
  const before = at.keys;
  decodeJson(value, at);
  const inside = at.keys - before;
  at.keys = before;
  return inside;
}

/** What Go makes of a `null` inside a list or a map. */
function zeroOf(type: Type): unknown {
  switch (type.is) {
    case "string":
    case "bytes":
      return "";
    case "int32":
    case "int64":
    case "double":
      return 0;
    case "bool":
      return false;
    case "quantity":
      return "0";
    case "list":
      return [];
    case "json":
      return null;
    default:
      return {};
  }
}
