// An object as the server keeps it: never changed again, with its JSON made once. The store holds the JSON without a resourceVersion,
// since that is only known once it is written; it belongs at a place that is the same for all objects of a kind, so it is
// put in without encoding again.
import { managedText } from "#schema/apply/creation.ts";
import { decodeUtf8, parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { Entry, Revision } from "#store/engine.ts";
import type { EncodedObject } from "#wire/api-request.ts";

/**
 * The bytes are always there, the object when someone asks for it: most of what a cluster holds is seldom looked at, and an object
 * takes as much memory as its bytes. Where others hold the object anyway, as informers of the same process do, it is theirs.
 */
export class Stored implements EncodedObject {
  readonly key: string;
  readonly revision: Revision;
  readonly json: Uint8Array;
  readonly #protect: Protection;
  #object: ApiObject | WeakRef<ApiObject> | undefined;
  #isAsked = false;

  constructor(key: string, revision: Revision, json: Uint8Array, object: ApiObject | undefined, protect: Protection) {
    this.key = key;
    this.revision = revision;
    this.json = json;
    this.#protect = protect;
    this.#object = object && protect(object);
  }

  /** The object, if anyone has it. */
  get held(): ApiObject | undefined {
    return this.#object instanceof WeakRef ? this.#object.deref() : this.#object;
  }

  get object(): ApiObject {
    this.#isAsked = true;
    const { held } = this;
    if (held) return held;
    const made = this.#protect(parseJson(decodeUtf8(this.json)).value as ApiObject);
    this.#object = made;
    return made;
  }

  /**
   * Lets go of the object; whoever asks again gets the same while anyone has it, else an equal one. What nobody has asked for nobody can
   * have: a weak reference would keep it until the collector looks at everything.
   */
  forgetObject(): void {
    if (!this.#object || this.#object instanceof WeakRef) return;
    this.#object = this.#isAsked ? new WeakRef(this.#object) : undefined;
  }
}

/** Sees to it that what is shared is not changed: tests freeze it, where it would cost a twentieth of a create. */
export type Protection = (object: ApiObject) => ApiObject;
const trusting: Protection = (object) => object;

const encoder = new TextEncoder();
/** Where objects of usual size are encoded that the store copies at once; a buffer of its own for each takes longer than encoding it. */
const scratch = new Uint8Array(128 * 1024);

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
    const bytes = encoder.encode(this.#text(object));
    this.#known.set(bytes, object);
    return bytes;
  }

  /** The same bytes, for who copies them at once: they are good until the next call. */
  encodeBriefly(object: ApiObject): Uint8Array {
    const text = this.#text(object);
    if (text.length * 3 > scratch.length) return encoder.encode(text);
    return scratch.subarray(0, encoder.encodeInto(text, scratch).written);
  }

  /** The stored object of what was encoded as `value` and is now an entry; the store may have made other bytes of it. */
  written(value: Uint8Array, entry: Entry): Stored {
    const known = this.#known.get(value);
    if (known && entry.value !== value) this.#known.set(entry.value, known);
    return this.of(entry);
  }

  /** The stored object of what has become an entry. */
  begun(object: ApiObject, entry: Entry): Stored {
    const stored = this.#make(entry, entry.modified, object);
    this.#known.set(entry.value, stored);
    return stored;
  }

  /** The stored object of an entry. Asked twice for one entry, it gives the same. */
  of(entry: Entry, revision: Revision = entry.modified): Stored {
    const known = this.#known.get(entry.value);
    if (known instanceof Stored && known.revision === revision) return known;
    const stored = this.#make(entry, revision, known instanceof Stored ? undefined : known);
    if (revision === entry.modified) this.#known.set(entry.value, stored);
    return stored;
  }

  #text(object: ApiObject): string {
    const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
    const { resourceVersion: _resourceVersion, managedFields, ...meta } = metadata;
    const tail = JSON.stringify(rest);
    const managed = managedFields ? `,"managedFields":${managedText(managedFields)}}` : "}";
    return `${this.#head}${JSON.stringify(meta).slice(1, -1)}${managed}${tail === "{}" ? "}" : `,${tail.slice(1)}`}`;
  }

  /** The same object with the revision of its deletion. */
  deleted(last: Stored, revision: Revision): Stored {
    const at = this.#head.length;
    const after = at + versionText(last.revision).length;
    const json = withVersion(last.json, at, after, revision);
    const { held } = last;
    const object = held && { ...held, metadata: { ...held.metadata, resourceVersion: String(revision) } };
    return new Stored(last.key, revision, json, object, this.#protect);
  }

  #make({ key, value }: Entry, revision: Revision, source: ApiObject | undefined): Stored {
    const at = this.#head.length; // the head is ASCII, so characters are bytes
    const json = withVersion(value, at, at, revision);
    if (!source) return new Stored(key, revision, json, undefined, this.#protect);
    const { apiVersion, kind } = this.#kind;
    const metadata = { ...source.metadata, resourceVersion: String(revision) };
    return new Stored(key, revision, json, { ...source, apiVersion, kind, metadata }, this.#protect);
  }
}

const versionText = (revision: Revision): string => `"resourceVersion":"${revision}",`;

/** JSON with a resourceVersion in place of what is from `from` to `to`. */
function withVersion(bytes: Uint8Array, from: number, to: number, revision: Revision): Uint8Array {
  const version = versionText(revision); // ASCII, so characters are bytes
  const json = new Uint8Array(from + version.length + bytes.length - to);
  json.set(bytes.subarray(0, from));
  encoder.encodeInto(version, json.subarray(from));
  json.set(bytes.subarray(to), from + version.length);
  return json;
}
