// An object as the server keeps it: never changed again, as bytes or as an object. The store holds the JSON without a resourceVersion,
// since that is only known once it is written; it belongs at a place that is the same for all objects of a kind, so it is
// put in without encoding again.
import { knownBytes, managedText } from "#schema/apply/creation.ts";
import { htmlSafe } from "#schema/go-json.ts";
import { decodeUtf8 } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { asWritten } from "#schema/written.ts";
import type { Entry, Revision } from "#store/engine.ts";
import type { EncodedObject } from "#wire/api-request.ts";
import { namesHead } from "#wire/json.ts";

/**
 * An object takes as much memory as its bytes, and most of what a cluster holds is seldom looked at. So what is settled is in one form:
 * the object where others in this process hold it anyway, as informers do, else the bytes. The other form is made for who asks, and
 * kept while it is asked for. Before it settles it is both the object that was written and the bytes that the store has.
 */
export class StoredObject implements EncodedObject {
  readonly key: string;
  readonly revision: Revision;
  /** About how many bytes it takes as JSON. */
  readonly size: number;
  readonly #form: StoredForm;
  /** As the store has it. It may be a part of something larger, which must not be kept for its sake. */
  #value: Uint8Array | undefined;
  #json: Uint8Array | undefined;
  /** A weak one finds what others hold. */
  #object: ApiObject | WeakRef<ApiObject> | undefined;
  #isShared = false;
  /** Whether the bytes are those of another form: what wrote them may have known another schema. */
  readonly #isForeign: boolean;
  /** Whether the object was read from the bytes, and is not known to give the same bytes again. */
  #isRead = false;
  #isAsked = false;
  #isSettled = false;
  /** Undefined until the bytes have been looked at. */
  #isOfFormerVersion: boolean | undefined;

  /** At least one of the forms is there. */
  constructor(form: StoredForm, key: string, revision: Revision, { value, json, object }: Forms) {
    this.key = key;
    this.revision = revision;
    this.#form = form;
    this.size = (value ?? json)?.length ?? 0;
    this.#value = value;
    this.#json = json;
    this.#object = object && form.protect(object);
    this.#isForeign = object === undefined;
  }

  /** The object, if it is in memory. */
  get held(): ApiObject | undefined {
    return this.#object instanceof WeakRef ? this.#object.deref() : this.#object;
  }

  get object(): ApiObject {
    this.#isAsked = true;
    this.#isShared = true;
    const object = this.#object;
    if (object && !(object instanceof WeakRef)) return object;
    const held = object?.deref();
    if (!held) this.#isRead = true;
    const made = held ?? this.#form.protect(this.#form.parse(this.json));
    this.#object = made;
    if (this.#isSettled) this.#form.warm.add(this);
    return made;
  }

  get json(): Uint8Array {
    this.#isAsked = true;
    if (this.#json) return this.#json;
    this.#json = this.#makeJson();
    if (this.#isSettled) this.#form.warm.add(this);
    return this.#json;
  }

  /** Whether the store has it in a version that is no longer the one that is stored. */
  get isOfFormerVersion(): boolean {
    if (this.#isOfFormerVersion === undefined)
      this.#isOfFormerVersion = this.#isForeign && this.#value !== undefined && !this.#form.isCurrent(this.#value);
    return this.#isOfFormerVersion;
  }

  /** Whether anyone has asked for it since this was last called. */
  takeAsked(): boolean {
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    return isAsked;
  }

  /** Comes down to one form. */
  settle(isHeldByOthers: boolean): void {
    this.#isSettled = true;
    if (this.#form.mayBeFormer) this.#isOfFormerVersion = this.isOfFormerVersion;
    const object = this.#object instanceof WeakRef ? undefined : this.#object;
    if (isHeldByOthers && object && this.#isFaithful(object)) this.#json = undefined;
    else {
      this.#json ??= this.#makeJson();
      // What nobody was given nobody can have: a weak reference would keep it until the collector looks at everything.
      if (object) this.#object = this.#isShared ? new WeakRef(object) : undefined;
    }
    this.#value = undefined;
  }

  /** The same with the revision of its deletion. */
  deleted(revision: Revision): StoredObject {
    const { held } = this;
    const object = held && { ...held, metadata: { ...held.metadata, resourceVersion: String(revision) } };
    const json = this.#value ? undefined : this.#json && this.#form.withRevision(this.#json, this.revision, revision);
    const made = new StoredObject(this.#form, this.key, revision, { value: this.#value, json, object });
    made.#isRead = this.#isRead;
    return made;
  }

  #makeJson(): Uint8Array {
    if (!this.#value) return this.#form.jsonFrom(this.#object as ApiObject);
    return this.#form.jsonOf(this.#value, this.revision, this.#isForeign);
  }

  /** Whether the same bytes can be made of the object: another version of this server may have written them in its own way. */
  #isFaithful(object: ApiObject): boolean {
    if (this.#isRead) this.#isRead = !this.#json || !equalBytes(this.#json, this.#form.jsonFrom(object));
    return !this.#isRead;
  }
}

interface Forms {
  readonly value?: Uint8Array | undefined;
  readonly json?: Uint8Array | undefined;
  readonly object?: ApiObject | undefined;
}

/** Sees to it that what is shared is not changed: tests freeze it, where it would cost a twentieth of a create. */
export type Protection = (object: ApiObject) => ApiObject;
const trusting: Protection = (object) => object;

const encoder = new TextEncoder();
/** Where objects of usual size are encoded that the store copies at once; a buffer of its own for each takes longer than encoding it. */
const scratch = new Uint8Array(128 * 1024);

/** Turns objects of one kind into what the store keeps, and back. */
export class StoredForm {
  readonly protect: Protection;
  /** What has settled, and was then asked for in its other form. */
  readonly warm = new Set<StoredObject>();
  readonly #kind: AnyKind;
  /** Everything before the first field of metadata. */
  readonly #head: string;
  readonly #headBytes: Uint8Array;
  /**
   * Objects that this server has written and its cache has not yet had back from the store, by revision, so that they need not be parsed
   * again. Revisions are never reused, and all are newer than `#passed`, so the map is as large as the cache is behind. Nothing rests on
   * the bytes being the same array: a store may keep them in a form of its own, such as an encrypted one.
   */
  readonly #awaited = new Map<Revision, StoredObject>();
  /** The cache has had everything up to here. */
  #passed: Revision = 0;

  constructor(kind: AnyKind, protect: Protection = trusting) {
    this.#kind = kind;
    this.protect = protect;
    this.#head = `${namesHead(kind)}"metadata":{`;
    this.#headBytes = encoder.encode(this.#head);
  }

  /** The object of what clients get. */
  parse(json: Uint8Array): ApiObject {
    return this.#kind.model.parse(decodeUtf8(json)) as ApiObject;
  }

  encode(object: ApiObject): Uint8Array {
    const brief = this.encodeBriefly(object);
    return brief.buffer === scratch.buffer ? brief.slice() : brief;
  }

  /**
   * The same bytes, for who copies them at once: they are good until the next call. They are written piece by piece: to join the
   * texts first would make 6 KB of strings for a pod of 3, and what all owners of pods have in common would be encoded again.
   */
  encodeBriefly(object: ApiObject): Uint8Array {
    const parts = this.#parts(object);
    const managed = parts.managed && knownBytes(parts.managed);
    if (!managed || (parts.meta.length + parts.tail.length) * 3 + managed.length + 1000 > scratch.length)
      return encoder.encode(joined(this.#head, "", parts));
    let at = append(this.#headBytes, 0) - 1; // the brace is the one that metadata begins with
    at += encoder.encodeInto(parts.meta, scratch.subarray(at)).written - 1;
    at = append(managedEnd, append(managed, append(managedStart, at)));
    if (parts.tail === "{}") scratch[at++] = closing;
    else {
      const start = at;
      at += encoder.encodeInto(parts.tail, scratch.subarray(at)).written;
      scratch[start] = comma;
    }
    return scratch.subarray(0, at);
  }

  /** The stored object of what has become an entry. The cache gets the very same when the entry comes back from the store. */
  written(object: ApiObject, entry: Entry): StoredObject {
    const stored = this.#make(entry.key, entry.modified, { value: entry.value, object });
    // A watch may bring an entry before the put that made it is answered: then nobody waits for it any more.
    if (entry.modified > this.#passed) this.#awaited.set(entry.modified, stored);
    return stored;
  }

  /** The stored object of an entry, at the revision that wrote it or at that of its deletion. Throws TransformError if it is unreadable. */
  of({ key, value, modified, unreadable }: Entry, revision: Revision = modified): StoredObject {
    if (unreadable) throw unreadable;
    const written = this.#awaited.get(revision);
    return written?.key === key ? written : new StoredObject(this, key, revision, { value });
  }

  /** To be called when the cache has taken all changes up to a revision. */
  passed(revision: Revision): void {
    this.#passed = Math.max(this.#passed, revision);
    for (const written of this.#awaited.keys()) {
      if (written > this.#passed) return;
      this.#awaited.delete(written);
    }
  }

  /** What is only shown: a dry run's object, or the last state of a deleted one. */
  shown(key: string, object: ApiObject, revision: Revision): StoredObject {
    return this.#make(key, revision, { object });
  }

  /** Whether what the store has may be of another version than what is stored now. */
  get mayBeFormer(): boolean {
    return this.#kind.peers !== undefined;
  }

  /** Whether what the store has is of the version that is stored now. */
  isCurrent(value: Uint8Array): boolean {
    if (!this.mayBeFormer || this.#headBytes.every((byte, i) => value[i] === byte)) return true;
    return this.parse(value).apiVersion === this.#kind.apiVersion;
  }

  /**
   * What clients get of what the store has. What is foreign may have been written before the kind was what it is; where only a webhook can
   * tell what that means today, it stays in the version that it is in.
   */
  jsonOf(value: Uint8Array, revision: Revision, isForeign = true): Uint8Array {
    if (isForeign && this.#kind.peers?.isRemote && !this.isCurrent(value)) return this.#formerJson(value, revision);
    return this.#withVersion(isForeign ? this.#reread(value) : value, this.#head.length, revision, newline);
  }

  #formerJson(value: Uint8Array, revision: Revision): Uint8Array {
    const { apiVersion, kind, metadata, ...rest } = this.parse(value);
    const versioned = { ...metadata, resourceVersion: String(revision) };
    const text = `${namesHead({ apiVersion, kind })}${JSON.stringify({ metadata: versioned, ...rest }).slice(1)}`;
    return encoder.encode(`${htmlSafe(text)}\n`);
  }

  #reread(value: Uint8Array): Uint8Array {
    const { model } = this.#kind;
    if (!model.reread) return value;
    const { apiVersion: _apiVersion, kind: _kind, ...rest } = model.reread(decodeUtf8(value)) as ApiObject;
    return this.encodeBriefly(rest as ApiObject);
  }

  /** The same, of the object. */
  jsonFrom(object: ApiObject): Uint8Array {
    return encoder.encode(`${joined(this.#head, versionText(object.metadata.resourceVersion), this.#parts(object))}\n`);
  }

  withRevision(json: Uint8Array, before: Revision, revision: Revision): Uint8Array {
    if (this.#kind.peers?.isRemote && !this.isCurrent(json)) return this.#formerJson(json, revision);
    return this.#withVersion(json, this.#head.length + versionText(before).length, revision, nothing);
  }

  /** The head, a resourceVersion, and what is in `bytes` from `from` on. An older server wrote the names in another order, but as long. */
  #withVersion(bytes: Uint8Array, from: number, revision: Revision, end: Uint8Array): Uint8Array {
    const head = this.#headBytes;
    const version = versionText(revision); // ASCII, so characters are bytes
    const at = head.length + version.length;
    const json = new Uint8Array(at + bytes.length - from + end.length);
    json.set(head);
    encoder.encodeInto(version, json.subarray(head.length));
    json.set(bytes.subarray(from), at);
    json.set(end, json.length - end.length);
    return json;
  }

  #parts(object: ApiObject): Parts {
    const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = asWritten(this.#kind, object);
    const { resourceVersion: _resourceVersion, managedFields: managed, ...meta } = metadata;
    return { meta: htmlSafe(JSON.stringify(meta)), managed, tail: htmlSafe(JSON.stringify(rest)) };
  }

  #make(
    key: string,
    revision: Revision,
    { value, object: source }: Forms & { readonly object: ApiObject },
  ): StoredObject {
    const { apiVersion, kind } = this.#kind;
    const metadata = { ...source.metadata };
    if (revision === unwritten) delete metadata.resourceVersion;
    else metadata.resourceVersion = String(revision);
    return new StoredObject(this, key, revision, { value, object: { ...source, apiVersion, kind, metadata } });
  }
}

/** Of what the JSON of an object is made: metadata, its managedFields, and all else. */
interface Parts {
  readonly meta: string;
  readonly managed: readonly object[] | undefined;
  readonly tail: string;
}

function joined(head: string, version: string, { meta, managed, tail }: Parts): string {
  const fields = managed ? `,"managedFields":${managedText(managed)}}` : "}";
  return `${head}${version}${meta.slice(1, -1)}${fields}${tail === "{}" ? "}" : `,${tail.slice(1)}`}`;
}

const managedStart = encoder.encode(',"managedFields":[');
const managedEnd = encoder.encode("]}");
const closing = 0x7d;
const comma = 0x2c;

/** Puts bytes at a place of the scratch buffer; answers where they end. */
function append(bytes: Uint8Array, at: number): number {
  scratch.set(bytes, at);
  return at + bytes.length;
}

/** The revision of what was only tried, as by a dry run: it has no resourceVersion. */
const unwritten: Revision = 0;
const newline = encoder.encode("\n");
const nothing = new Uint8Array();

const versionText = (revision: Revision | string | undefined): string =>
  revision === unwritten || revision === undefined ? "" : `"resourceVersion":"${revision}",`;

function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}
