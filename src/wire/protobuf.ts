import type { DecodeResult } from "#schema/decode.ts";
import { DecodeError } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import { decodeMessage, encodeMessage } from "#schema/protobuf/codec.ts";
import { envelopeAround, open, seal } from "#schema/protobuf/envelope.ts";
import { hasProtobuf } from "#schema/protobuf/message.ts";
import { decodeWatchEvent, encodeWatchEvent } from "#schema/protobuf/watch-event.ts";
import { type AnyStruct, structOf } from "#schema/struct.ts";
import {
  type Codec,
  type EncodedPart,
  type EventOf,
  type Frames,
  type ListEncoder,
  maxFrameBytes,
  type TypedSubject,
} from "./codec.ts";
import { joined } from "./json.ts";
import { protobufType } from "./negotiate.ts";

export const protobufCodec: Codec = {
  mediaType: protobufType,
  supports: hasProtobuf,
  encode: (subject, object) => seal(subject, subject.struct, object),
  listEncoder,
  decode: (subject, body, mostValues) => unsealed(subject, body, mostValues),
  watch: {
    mediaType: `${protobufType};stream=watch`,
    encode(subject, { type, object }) {
      const event = encodeWatchEvent(type, seal(subject, subject.struct, object));
      const frame = new Uint8Array(4 + event.length);
      new DataView(frame.buffer).setUint32(0, event.length);
      frame.set(event, 4);
      return frame;
    },
    frames: () => new LengthPrefixed(),
  },
};

/** Fields follow each other in the order of their numbers, the items last, and each item is a field of its own. */
function listEncoder(subject: TypedSubject, list: object, field: string): ListEncoder {
  const { struct } = subject;
  const others = encodeMessage(struct, { ...list, [field]: [] });
  const zeros = encodeMessage(struct, {}).length;
  return {
    item: (item) => encodeMessage(struct, { [field]: [item] }).subarray(zeros),
    around(size) {
      const { head, tail } = envelopeAround(subject, others.length + size);
      return { head: joined([head, others], head.length + others.length), tail };
    },
  };
}

function unsealed(subject: AnyKind | AnyStruct, body: Uint8Array, mostValues?: number): DecodeResult {
  const { apiVersion, kind, message } = open(body);
  return { object: { apiVersion, kind, ...decodeMessage(structOf(subject), message, mostValues) }, strictErrors: [] };
}

/** Events with their length before them, in four bytes, the highest first. */
class LengthPrefixed implements Frames {
  #held: Uint8Array[] = [];
  #size = 0;
  /** Bytes needed before anything can be said: of the length, then of the event. */
  #wanted = 4;

  get isPartial(): boolean {
    return this.#size > 0;
  }

  push(bytes: Uint8Array): readonly EventOf<EncodedPart>[] {
    this.#held.push(bytes.slice());
    this.#size += bytes.length;
    const events: EventOf<EncodedPart>[] = [];
    while (this.#size >= this.#wanted) {
      const whole = joined(this.#held, this.#size);
      const length = new DataView(whole.buffer, whole.byteOffset).getUint32(0);
      if (length > maxFrameBytes) throw new DecodeError(`an event of ${length} bytes is announced`);
      this.#held = [whole];
      this.#wanted = 4 + length;
      if (this.#size < this.#wanted) break;
      events.push(eventOf(whole.subarray(4, this.#wanted)));
      this.#held = [whole.subarray(this.#wanted)];
      this.#size -= this.#wanted;
      this.#wanted = 4;
    }
    return events;
  }
}

function eventOf(frame: Uint8Array): EventOf<EncodedPart> {
  const { type, object } = decodeWatchEvent(frame);
  const { apiVersion, kind } = open(object);
  return { type, object: { apiVersion, kind, decode: (subject) => unsealed(subject, object) } };
}
