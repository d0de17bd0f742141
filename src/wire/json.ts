import { isObject } from "#base/is-object.ts";
import { decodeParsed, decodeValue } from "#schema/decode.ts";
import { htmlSafe } from "#schema/go-json.ts";
import { DecodeError, decodeUtf8, parseJson } from "#schema/json.ts";
import { exactValue } from "#schema/structural/exact-integers.ts";
import { asWritten } from "#schema/written.ts";
import {
  type Codec,
  type EncodedPart,
  type EventOf,
  type Frames,
  type ListEncoder,
  maxFrameBytes,
  type TypedSubject,
} from "./codec.ts";
import { jsonType } from "./negotiate.ts";

const encoder = new TextEncoder();
const newline = 0x0a;

export const jsonCodec: Codec = {
  mediaType: jsonType,
  supports: () => true,
  encode: (subject, object, { isPretty = false } = {}) =>
    isPretty
      ? encoder.encode(indented(inReadingOrder(subject, asWritten(subject.struct, object))))
      : encodeObject(subject, object),
  listEncoder: (subject, list, field, { isPretty = false } = {}) => listEncoder(subject, list, field, isPretty),
  decode(subject, body, mostValues) {
    const text = decodeUtf8(body);
    return decodeParsed(subject, text, parseJson(text, { keepsWritten: true, mostValues }));
  },
  watch: {
    mediaType: `${jsonType};stream=watch`,
    encode: (subject, { type, object }) =>
      encoder.encode(`{"type":${JSON.stringify(type)},"object":${text(subject, object)}}\n`),
    frames: () => new Lines(),
  },
};

/** The apiVersion and kind of an object, and its struct if it has one. */
type ObjectNames = Omit<TypedSubject, "struct"> & Partial<Pick<TypedSubject, "struct">>;

/** One object as an answer of its own. It begins with `namesHead`, so that a list can leave that out, and ends with a newline. */
export const encodeObject = (subject: ObjectNames, object: object): Uint8Array =>
  encoder.encode(`${text(subject, object)}\n`);

/** How the JSON of each object begins: what it is, before all it says. */
export const namesHead = ({ apiVersion, kind }: ObjectNames): string =>
  `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;

function text(subject: ObjectNames, object: object): string {
  const written: Partial<ObjectNames> = subject.struct ? asWritten(subject.struct, object) : object;
  const { apiVersion = subject.apiVersion, kind = subject.kind, ...rest } = written;
  const tail = htmlSafe(JSON.stringify(rest));
  const head = namesHead({ apiVersion, kind });
  return tail === "{}" ? `${head.slice(0, -1)}}` : head + tail.slice(1);
}

export const withNames = ({ apiVersion, kind }: ObjectNames, object: object): object =>
  "apiVersion" in object && "kind" in object ? object : { kind, apiVersion, ...object };

/** For people: what it is and what it is called, before what it says. */
const inReadingOrder = ({ apiVersion, kind }: TypedSubject, object: { readonly metadata?: unknown }): object => ({
  kind,
  apiVersion,
  ...("metadata" in object && { metadata: object.metadata }),
  ...object,
});

function listEncoder(subject: TypedSubject, list: object, field: string, isPretty: boolean): ListEncoder {
  const { struct, apiVersion, kind } = subject;
  const { [field]: _items, ...others } = asWritten(struct, list) as Readonly<Record<string, unknown>>;
  const name = JSON.stringify(field);
  const head = isPretty
    ? `${indented(inReadingOrder(subject, others)).slice(0, -"\n}".length)},\n  ${name}: [`
    : `${text({ apiVersion, kind }, others).slice(0, -"}".length)},${name}:[`;
  const itemText = isPretty ? indentedItem : compactItem;
  return {
    item(item, isFirst) {
      const written = asWritten(struct, { [field]: [item] })[field]?.[0] ?? item;
      return encoder.encode(isFirst ? itemText(written) : `,${itemText(written)}`);
    },
    around: () => ({ head: encoder.encode(head), tail: encoder.encode(isPretty ? "\n  ]\n}" : "]}\n") }),
  };
}

const indented = (value: object): string => htmlSafe(JSON.stringify(value, null, 2));
const compactItem = (item: object): string => htmlSafe(JSON.stringify(item));
/** With its newline: an item stands two levels deep, in a field of the list. */
const indentedItem = (item: object): string => indented([[item]]).slice("[\n  [".length, -"\n  ]\n]".length);

/** Events as lines of JSON. */
class Lines implements Frames {
  #held: Uint8Array[] = [];
  #size = 0;

  get isPartial(): boolean {
    return this.#size > 0;
  }

  push(bytes: Uint8Array): readonly EventOf<EncodedPart>[] {
    const events: EventOf<EncodedPart>[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#hold(bytes.subarray(start, end));
      start = end + 1;
      const line = decodeUtf8(joined(this.#held, this.#size));
      this.#held = [];
      this.#size = 0;
      if (line.trim() !== "") events.push(eventOf(line));
    }
    if (start < bytes.length) this.#hold(bytes.slice(start));
    return events;
  }

  #hold(part: Uint8Array): void {
    this.#size += part.length;
    if (this.#size > maxFrameBytes) throw new DecodeError(`an event has more than ${maxFrameBytes} bytes`);
    this.#held.push(part);
  }
}

export function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function eventOf(line: string): EventOf<EncodedPart> {
  const { value } = parseJson(line);
  if (!isObject(value) || typeof value.type !== "string" || !isObject(value.object))
    throw new DecodeError("an event has a type and an object");
  const { object } = value;
  const name = (field: unknown): string => (typeof field === "string" ? field : "");
  const exactly = () => (exactValue(line, value) as { readonly object: unknown }).object;
  return {
    type: value.type,
    object: {
      apiVersion: name(object.apiVersion),
      kind: name(object.kind),
      decode: (subject) => decodeValue(subject, "model" in subject && subject.model.keepsInt64 ? exactly() : object),
    },
  };
}
