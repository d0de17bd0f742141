// Structs as JSON Schema, in the dialects of OpenAPI 2 and 3.
import { breathe } from "#base/breathe.ts";
import type { Either, FieldSpec, Scalar, Type } from "../field.ts";
import { typeMeta } from "../field.ts";
import type { AnyKind } from "../kind.ts";
import { ListMeta, ObjectMeta } from "../object-meta.ts";
import type { AnyStruct, Fields } from "../struct.ts";
import { definitionName, kindDefinitionName } from "./names.ts";
import { publishedSchema } from "./published.ts";

export type JsonValue = Readonly<Record<string, unknown>>;

/** Version 2 has no defaults, and references may have siblings; version 3 wraps those into `allOf`. */
export type Dialect = 2 | 3;

export interface GroupVersionKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

/** What an operation takes or answers. */
export type Model = "string" | "patch" | { struct: AnyStruct } | { kind: AnyKind } | { listOf: AnyKind };

/** Which kinds a struct is known as, by the struct's name. */
export type KindsOf = (structName: string) => readonly GroupVersionKind[] | undefined;

/** Collects the definitions of one document: all that its operations refer to, directly or not. */
export class Definitions {
  readonly #dialect: Dialect;
  readonly #kindsOf: KindsOf;
  readonly #schemas = new Map<string, () => JsonValue>();

  constructor(dialect: Dialect, kindsOf: KindsOf) {
    this.#dialect = dialect;
    this.#kindsOf = kindsOf;
  }

  /** All that was referred to, ordered by name. Gives way to other work: there are hundreds. */
  async all(): Promise<JsonValue> {
    const pause = breathe();
    const made: [string, JsonValue][] = [];
    // Making one may refer to more, which the map then shows to this loop as well.
    for (const [name, make] of this.#schemas) {
      made.push([name, make()]);
      if (pause.due()) await pause.now();
    }
    return Object.fromEntries(made.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  refTo(model: Model): JsonValue {
    if (model === "string") return { type: "string" };
    if (model === "patch") return this.#named("meta/v1.Patch", () => ({ ...described(patchDoc), type: "object" }));
    if ("struct" in model) return this.#struct(model.struct);
    return "kind" in model ? this.#kind(model.kind) : this.#listOf(model.listOf);
  }

  #named(structName: string, schema: () => JsonValue): JsonValue {
    return this.#define(definitionName(structName), schema);
  }

  #define(name: string, schema: () => JsonValue): JsonValue {
    if (!this.#schemas.has(name)) this.#schemas.set(name, schema);
    return { $ref: `${this.#dialect === 2 ? "#/definitions/" : "#/components/schemas/"}${name}` };
  }

  #kind(kind: AnyKind): JsonValue {
    const { schema } = kind.model.publication;
    if (schema === undefined) return this.#struct(kind.struct);
    return this.#define(kindDefinitionName(kind), () => ({
      ...publishedSchema(schema, this.#dialect, this.#typeMeta(), this.#metadata(ObjectMeta)),
      ...kinds([kind]),
      ...selectable(kind),
    }));
  }

  #listOf(kind: AnyKind): JsonValue {
    const { group, version, listKind } = kind;
    const item = this.#kind(kind);
    const schema = () => ({
      description: `A list of ${kind.plural}.`,
      properties: {
        ...this.#typeMeta(),
        items: {
          description: "The objects.",
          items: kind.model.publication.defaultsItems ? this.#beside(item, this.#defaulting({})) : item,
          type: "array",
        },
        metadata: this.#metadata(ListMeta),
      },
      required: ["items"],
      type: "object",
      ...kinds([{ group, version, kind: listKind }]),
      ...selectable(kind),
    });
    return this.#define(kindDefinitionName(kind).replace(/[^.]+$/, listKind), schema);
  }

  #typeMeta(): JsonValue {
    return Object.fromEntries(Object.entries(typeMeta).map(([name, { spec }]) => [name, this.#field(spec)]));
  }

  #metadata(struct: AnyStruct): JsonValue {
    return this.#beside(this.#struct(struct), { ...described(struct.doc), ...this.#defaulting({}) });
  }

  #struct(struct: AnyStruct): JsonValue {
    return this.#named(struct.name, () => this.#structSchema(struct));
  }

  #structSchema({ name, doc, fields, atomic, union }: AnyStruct): JsonValue {
    const entries = Object.entries(fields as Fields)
      .filter(([, { spec }]) => !spec.isUnpublished)
      .map(([key, { spec }]) => [key, spec] as const);
    const required = entries.filter(([, spec]) => spec.required).map(([key]) => key);
    const kindsOfStruct = this.#kindsOf(name);
    return {
      ...described(doc),
      ...(entries.length > 0 && {
        properties: Object.fromEntries(entries.map(([key, spec]) => [key, this.#field(spec)])),
      }),
      ...(required.length > 0 && { required }),
      type: "object",
      ...(kindsOfStruct && kinds(kindsOfStruct)),
      ...(atomic && { "x-kubernetes-map-type": "atomic" }),
      ...(union && {
        "x-kubernetes-unions": [
          {
            ...(union.discriminator !== undefined && { discriminator: union.discriminator }),
            "fields-to-discriminateBy": union.fields,
          },
        ],
      }),
    };
  }

  #field(spec: FieldSpec): JsonValue {
    const { type } = spec;
    const schema = this.#type(type);
    const listed = spec.published ?? spec.enum ?? [];
    const values = listed.length === 0 ? {} : { enum: listed };
    return this.#beside(schema, {
      ...described(spec.doc),
      ...this.#defaulting(spec.default ?? zeroOf(spec)),
      ...(type.is === "string" && values),
      ...(type.is === "list" && { items: { ...(schema.items as JsonValue), ...values } }),
      ...(type.is === "map" && { additionalProperties: { ...(schema.additionalProperties as JsonValue), ...values } }),
      ...(type.is === "list" && spec.listType && { "x-kubernetes-list-type": spec.listType }),
      ...(spec.keys && { "x-kubernetes-list-map-keys": spec.keys }),
      ...(spec.mapType && { "x-kubernetes-map-type": spec.mapType }),
      ...patching(spec),
    });
  }

  #type(type: Type): JsonValue {
    switch (type.is) {
      case "struct":
        return this.#struct(type.struct());
      case "list":
        return { items: this.#element(type.item), type: "array" };
      case "map":
        return { additionalProperties: this.#element(type.value), type: "object" };
      case "either":
        return this.#either(type.either);
      default:
        return this.#scalar(type.is);
    }
  }

  /** What a list or a map holds is never absent, so it has its zero value as default. */
  #element(type: Type): JsonValue {
    return this.#beside(this.#type(type), this.#defaulting(type.is === "struct" ? {} : zeros[type.is]));
  }

  #either({ name, doc }: Either): JsonValue {
    return this.#named(name, () => described(doc ?? ""));
  }

  #scalar(is: Scalar): JsonValue {
    const inline = inlined[is];
    if (inline) return inline;
    const { name, doc, v2, v3 } = special[is] as Special;
    return this.#named(name, () => ({ ...described(doc), ...(this.#dialect === 3 ? (v3 ?? v2) : v2) }));
  }

  #defaulting(value: unknown): JsonValue {
    return value === undefined || this.#dialect === 2 ? {} : { default: value };
  }

  #beside(schema: JsonValue, siblings: JsonValue): JsonValue {
    const wrap = this.#dialect === 3 && "$ref" in schema && Object.keys(siblings).length > 0;
    return wrap ? { allOf: [schema], ...siblings } : { ...schema, ...siblings };
  }
}

const patchDoc = "A change to an object, in the format its media type says.";

const inlined: Partial<Record<Scalar, JsonValue>> = {
  string: { type: "string" },
  bool: { type: "boolean" },
  int32: { format: "int32", type: "integer" },
  int64: { format: "int64", type: "integer" },
  double: { format: "double", type: "number" },
  bytes: { format: "byte", type: "string" },
};

interface Special {
  readonly name: string;
  readonly doc: string;
  readonly v2: JsonValue;
  readonly v3?: JsonValue;
}

const special: Partial<Record<Scalar, Special>> = {
  time: {
    name: "meta/v1.Time",
    doc: "A moment, in whole seconds: 2006-01-02T15:04:05Z.",
    v2: { format: "date-time", type: "string" },
  },
  microTime: {
    name: "meta/v1.MicroTime",
    doc: "A moment, with microseconds: 2006-01-02T15:04:05.000000Z.",
    v2: { format: "date-time", type: "string" },
  },
  duration: {
    name: "meta/v1.Duration",
    doc: "A span of time: 1m30s.",
    v2: { type: "string" },
  },
  quantity: {
    name: "api/resource.Quantity",
    doc: "A number with a suffix: 500m is half of one, 1Ki is 1024, 1M a million, 12e6 twelve million.",
    v2: { type: "string" },
    v3: { oneOf: [{ type: "string" }, { type: "number" }] },
  },
  intOrString: {
    name: "util/intstr.IntOrString",
    doc: "A number, or a text that stands for one: a percentage, or the name of a port.",
    v2: { format: "int-or-string", type: "string" },
    v3: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
  },
  rawExtension: {
    name: "runtime.RawExtension",
    doc: "An object of any kind.",
    v2: { type: "object" },
  },
  fieldsV1: {
    name: "meta/v1.FieldsV1",
    doc: "A set of fields as a tree: f:<name> is a field, k:<keys> an item of a list by its keys, v:<value> an item of a set.",
    v2: { type: "object" },
  },
  json: { name: "apiextensions/v1.JSON", doc: "Any JSON value.", v2: {} },
};

const zeros: Readonly<Record<string, unknown>> = { string: "", bool: false, int32: 0, int64: 0, double: 0 };

/** Of a field that is always written: clients may leave it out, and then it is this. */
function zeroOf({ type, required, always, pointer, omitEmpty, zeroKey }: FieldSpec): unknown {
  if (pointer) return undefined;
  if (type.is === "struct") return required || always ? {} : undefined;
  return (required && !omitEmpty) || always || zeroKey ? zeros[type.is] : undefined;
}

/** A list that apply merges by keys but a patch replaces says nothing of patches: to replace is what they do by default. */
const patching = ({ patchStrategy, patchKey }: FieldSpec): JsonValue =>
  patchStrategy === undefined || (patchStrategy === "replace" && patchKey !== undefined)
    ? {}
    : {
        "x-kubernetes-patch-strategy": patchStrategy,
        ...(patchKey && { "x-kubernetes-patch-merge-key": patchKey }),
      };

const described = (doc: string | undefined): JsonValue => (doc ? { description: doc } : {});

const kinds = (list: readonly GroupVersionKind[]): JsonValue => ({
  "x-kubernetes-group-version-kind": list.map(({ group, kind, version }) => ({ group, kind, version })),
});

/** Of a kind made at run time, by which fields it can be selected. */
const selectable = ({ model, selectableFields = {} }: AnyKind): JsonValue =>
  !model.publication.tellsSelectableFields || Object.keys(selectableFields).length === 0
    ? {}
    : { "x-kubernetes-selectable-fields": Object.keys(selectableFields).map((fieldPath) => ({ fieldPath })) };
