// What the tests of this folder share: a kind that has one of everything, and stories of many managers.
import { equal } from "#base/collections.ts";
import { applyDefaults } from "../defaults.ts";
import { bool, int32, intOrString, json, list, map, quantity, rawExtension, ref, string } from "../field.ts";
import { type AnyKind, resource } from "../kind.ts";
import { type AnyStruct, struct } from "../struct.ts";
import { applyObject, trackUpdate } from "./apply.ts";
import { pathText } from "./element.ts";
import { pathsOf } from "./field-set.ts";
import type { Filter } from "./filter.ts";
import { keepTimes } from "./keep-times.ts";
import type { OwnedFieldsEntry } from "./managed.ts";
import type { JsonMap } from "./value.ts";

const Item = struct("test/v1.Item", {
  name: string(1).required(),
  value: string(2),
  size: int32(3).pointer(),
  tags: list(4, "string").asSet(),
});
const Port = struct("test/v1.Port", {
  port: int32(1).required(),
  protocol: string(2).default("TCP"),
  name: string(3),
});
const Whole = struct("test/v1.Whole", { a: string(1), b: string(2) }, { atomic: true });
const Part: AnyStruct = struct("test/v1.Part", {
  a: string(1),
  b: string(2),
  inner: ref(3, { lazy: () => Part }),
});

const Spec = struct("test/v1.ThingSpec", {
  size: int32(1).pointer(),
  title: string(2),
  on: bool(3),
  labels: map(4, "string"),
  fixed: map(5, "string").atomic(),
  words: list(6, "string"),
  set: list(7, "string").asSet(),
  items: list(8, Item).keyedBy("name"),
  ports: list(9, Port).keyedBy("port", "protocol"),
  whole: ref(10, Whole),
  part: ref(11, Part),
  raw: rawExtension(12),
  any: json(13),
  amount: quantity(14),
  target: intOrString(15),
});
const Status = struct("test/v1.ThingStatus", { phase: string(1), size: int32(2).required() });

export const Thing = resource({
  group: "test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced",
  doc: "One of everything.",
  fields: { spec: ref(2, Spec).default({}), status: ref(3, Status).default({}) },
});

export interface ApplyStep {
  readonly force?: boolean;
  readonly subresource?: string;
  readonly resetFields?: Filter;
}

/** One object and all that is done to it. Each step takes a minute; what is applied is defaulted and stored, as the server does it. */
export class Story {
  readonly kind: AnyKind;
  object: JsonMap | undefined;
  now: number = Date.UTC(2026, 0, 1);

  constructor(kind: AnyKind, object?: JsonMap) {
    this.kind = kind;
    this.object = object && this.#complete(object);
  }

  /** Only what is below metadata need be given. */
  apply(manager: string, fields: JsonMap, { force = false, ...step }: ApplyStep = {}): this {
    const applied = { ...this.#type, metadata: { name: "it", ...(fields.metadata as JsonMap) } };
    for (const [name, value] of Object.entries(fields))
      if (name !== "metadata") Object.assign(applied, { [name]: value });
    const write = { kind: this.kind, live: this.object, applied, manager, now: this.now, force, ...step };
    const { object, managedFields } = applyObject(write);
    return this.#store(this.#complete(object), managedFields);
  }

  /** Replaces the object by what `change` makes of it. */
  update(manager: string, change: (object: any) => unknown, step: ApplyStep = {}): this {
    const before = structuredClone(this.object ?? this.#complete({}));
    const updated = this.#complete((change(before) ?? before) as JsonMap);
    const write = { kind: this.kind, live: this.object, updated, manager, now: this.now, ...step };
    return this.#store(updated, trackUpdate(write));
  }

  get managedFields(): readonly OwnedFieldsEntry[] {
    return ((this.object?.metadata as JsonMap | undefined)?.managedFields ?? []) as readonly OwnedFieldsEntry[];
  }

  /** One line for each owner: `ann Apply 00:01: .spec.size .spec.title`. */
  get owners(): readonly string[] {
    return this.managedFields.map(({ manager, operation, subresource, time, fieldsV1 = {} }) => {
      const who = [manager, operation, subresource && `/${subresource}`, time?.slice(11, 16)];
      return `${who.filter((word) => word).join(" ")}: ${pathsOf(fieldsV1).map(pathText).join(" ")}`;
    });
  }

  get #type() {
    return { apiVersion: this.kind.apiVersion, kind: this.kind.kind };
  }

  #complete(object: JsonMap): JsonMap {
    const metadata = { name: "it", uid: "1", ...(object.metadata as JsonMap) };
    return applyDefaults(this.kind, withoutNulls({ ...this.#type, ...structuredClone(object), metadata }) as JsonMap);
  }

  #store(object: JsonMap, managedFields: readonly OwnedFieldsEntry[]): this {
    const { managedFields: _, ...metadata } = object.metadata as JsonMap;
    const next = { ...object, metadata: managedFields.length > 0 ? { ...metadata, managedFields } : metadata };
    const stored = this.object ? keepTimes(this.object, next) : next;
    this.object = this.object && equal(this.object, stored) ? this.object : stored;
    this.now += 60_000;
    return this;
  }
}

/** Null is absent to Go, and to the decoder that stands in this place in the server. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]));
}
