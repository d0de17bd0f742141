import { decodeText, decodeValue } from "#schema/decode.ts";
import { DecodeError, decodeUtf8, parseJson } from "#schema/json.ts";
import { type Codec, type EncodedPart, type EventOf, type Frames, maxFrameBytes, type Named } from "./codec.ts";
import { jsonType } from "./negotiate.ts";

const encoder = new TextEncoder();
const newline = 0x0a;

export const jsonCodec: Codec = {
  mediaType: jsonType,
  supports: () => true,
  encode: (subject, object, { isPretty = false } = {}) =>
    encoder.encode(
      isPretty ? `${JSON.stringify(inReadingOrder(subject, object), null, 2)}\n` : `${text(subject, object)}\n`,
    ),
  decode: (subject, body) => decodeText(subject, decodeUtf8(body)),
  watch: {
    mediaType: `${jsonType};stream=watch`,
    encode: (subject, { type, object }) =>
      encoder.encode(`{"type":${JSON.stringify(type)},"object":${text(subject, object)}}\n`),
    frames: () => new Lines(),
  },
};

const text = (subject: Named, object: object): string => JSON.stringify(withNames(subject, object));

/** Names first, as clients that read by eye or by stream expect. */
export const withNames = ({ apiVersion, kind }: Named, object: object): object =>
  "apiVersion" in object && "kind" in object ? object : { kind, apiVersion, ...object };

/** For people: what it is and what it is called, before what it says. */
const inReadingOrder = ({ apiVersion, kind }: Named, object: { readonly metadata?: unknown }): object => ({
  kind,
  apiVersion,
  ...("metadata" in object && { metadata: object.metadata }),
  ...object,
});

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
  return {
    type: value.type,
    object: {
      apiVersion: name(object.apiVersion),
      kind: name(object.kind),
      decode: (subject) => decodeValue(subject, object),
    },
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
