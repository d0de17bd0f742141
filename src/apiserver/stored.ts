// An object as the server keeps it: never changed again, with its JSON made once. The store holds the JSON without a resourceVersion,
// since that is only known once it is written; it belongs at a place that is the same for all objects of a kind, so it is
// put in without encoding again.
import { decodeUtf8, parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { Entry, Revision } from "#store/engine.ts";
import type { EncodedObject } from "#wire/api-request.ts";

export interface Stored extends EncodedObject {
  readonly key: string;
  readonly revision: Revision;
}

/** Sees to it that what is shared is not changed: tests freeze it, where it would cost a twentieth of a create. */
export type Protection = (object: ApiObject) => ApiObject;
const trusting: Protection = (object) => object;

const encoder = new TextEncoder();

/** Turns objects of one kind into what the store keeps, and back. */
export class StoredForm {
  readonly #kind: AnyKind;
  /** Everything before the first field of metadata. */
  readonly #head: string;
  readonly #protect: Protection;
  /** Objects on their way into the store, by their bytes: what comes back need not be parsed again. */
  readonly #known = new WeakMap<Uint8Array, Stored | ApiObject>();

  constructor(kind: AnyKind, protect: Protection = trusting) {
    this.#kind = kind;
    this.#protect = protect;
    this.#head = `{"apiVersion":${JSON.stringify(kind.apiVersion)},"kind":${JSON.stringify(kind.kind)},"metadata":{`;
  }

  encode(object: ApiObject): Uint8Array {
    const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
    const { resourceVersion: _resourceVersion, ...meta } = metadata;
    const tail = JSON.stringify(rest);
    const bytes = encoder.encode(
      `${this.#head}${JSON.stringify(meta).slice(1)}${tail === "{}" ? "}" : `,${tail.slice(1)}`}`,
    );
    this.#known.set(bytes, object);
    return bytes;
  }

  /** The stored object of an entry. Asked twice for one entry, it gives the same. */
  of(entry: Entry, revision: Revision = entry.modified): Stored {
    const known = this.#known.get(entry.value);
    if (known && "revision" in known && known.revision === revision) return known as Stored;
    const source = known && !("revision" in known) ? known : undefined;
    const stored = this.#make(entry, revision, source);
    if (revision === entry.modified) this.#known.set(entry.value, stored);
    return stored;
  }

  #make({ key, value }: Entry, revision: Revision, source: ApiObject | undefined): Stored {
    const at = this.#head.length; // the head is ASCII, so characters are bytes
    const version = encoder.encode(`"resourceVersion":"${revision}",`);
    const json = new Uint8Array(value.length + version.length);
    json.set(value.subarray(0, at));
    json.set(version, at);
    json.set(value.subarray(at), at + version.length);
    const { apiVersion, kind } = this.#kind;
    const body = source ?? (parseJson(decodeUtf8(value)).value as ApiObject);
    const metadata = { ...body.metadata, resourceVersion: String(revision) };
    const object = this.#protect({ ...body, apiVersion, kind, metadata });
    return { key, revision, object, json };
  }
}
