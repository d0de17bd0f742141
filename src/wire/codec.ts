// What a format can do for the API: an object, a list or a Status to bytes, a body to an object, and a watch to frames and back.
import type { StepwiseWork } from "#base/breathe.ts";
import type { DecodeResult } from "#schema/decode.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { AnyStruct } from "#schema/struct.ts";

/** An object and what it is. Formats that say less than JSON need to know the struct. */
export interface TypedSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly struct: AnyStruct;
}

export interface EventOf<T> {
  readonly type: string;
  readonly object: T;
}

export interface Codec {
  readonly mediaType: string;
  /** Whether there is a form of it in this format. Without one an answer is 406 and a body 415. */
  supports(struct: AnyStruct): boolean;
  /** The object with its apiVersion and kind, whether it carries them or not. */
  encode(subject: TypedSubject, object: object, options?: { readonly isPretty?: boolean }): Uint8Array;
  /** The same, to be interrupted, where it takes long. */
  encodeSteps?(subject: TypedSubject, object: object): StepwiseWork<Uint8Array>;
  /**
   * Encodes a list item by item, into the same bytes as `encode`. `list` is the list without its items, and `field` is the name of the field
   * with the items: the last field of the list.
   */
  listEncoder(
    subject: TypedSubject,
    list: object,
    field: string,
    options?: { readonly isPretty?: boolean },
  ): ListEncoder;
  /**
   * A body as an object nobody else holds, with apiVersion and kind if the body has them. Throws DecodeError, and ApiError 413 if it
   * has more than `mostValues` fields, keys and list items.
   */
  decode(subject: AnyKind | AnyStruct, body: Uint8Array, mostValues?: number): DecodeResult;
  /** Absent where the format has no way to tell where one event ends. */
  readonly watch?: WatchCodec;
}

export interface ListEncoder {
  /** One item, with what separates it from the item before. */
  item(item: object, isFirst: boolean): Uint8Array;
  /** The same, to be interrupted, where it takes long. */
  itemSteps?(item: object, isFirst: boolean): StepwiseWork<Uint8Array>;
  /** What stands before and after `size` bytes of items. */
  around(size: number): { readonly head: Uint8Array; readonly tail: Uint8Array };
}

export interface WatchCodec {
  /** With the parameter that says so. */
  readonly mediaType: string;
  encode(subject: TypedSubject, event: EventOf<object>): Uint8Array;
  /** Cuts what arrives into events. One per stream, because a frame may arrive in parts. */
  frames(): Frames;
}

export interface Frames {
  /** The events that are complete with these bytes. Throws DecodeError for what can never become one, or is larger than allowed. */
  push(bytes: Uint8Array): readonly EventOf<EncodedPart>[];
  /** Whether bytes of an unfinished event are held: at the end of a stream, it was cut off. */
  readonly isPartial: boolean;
}

/** The object of an event; its apiVersion and kind are read first, and decide how the rest is decoded. */
export interface EncodedPart {
  readonly apiVersion: string;
  readonly kind: string;
  decode(subject: AnyKind | AnyStruct): DecodeResult;
}

/** No event is larger than the largest object, with room for what goes around it. */
export const maxFrameBytes = 16 * 1024 * 1024;

/** The struct of a subject with its names. */
export const named = ({ apiVersion, kind, struct }: AnyKind): TypedSubject => ({ apiVersion, kind, struct });
