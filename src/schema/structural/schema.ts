// A schema that is known at run time, read once: OpenAPI v3 as a CustomResourceDefinition has it, with its `x-kubernetes-*` extensions.
// Follows apiextensions-apiserver/pkg/apiserver/schema/structural.go. What the schema's own validation refuses ($ref, patternProperties,
// a list of schemas as items) is not read.
import type { JsonMap } from "../apply/value.ts";

export interface SchemaNode {
  /** As its author wrote it. */
  readonly source: JsonMap;
  /** The types a value may have; any if there are none. */
  readonly types: readonly string[];
  /** Empty where the format is not one that is checked for values of this type. */
  readonly format: string;
  readonly nullable: boolean;
  /** Undefined if there is none; null counts as none. */
  readonly default: unknown;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** Of an object's values that are not among the properties: their schema, whether there may be some, or nothing said. */
  readonly additional: SchemaNode | boolean | undefined;
  readonly items: SchemaNode | undefined;
  readonly keepsUnknown: boolean;
  /** Whether the value is an object of the API, with apiVersion, kind and metadata, and whether any is in it. */
  readonly isResource: boolean;
  readonly leadsToResource: boolean;
  /** The keywords that values are validated against. */
  readonly rest: Rest;
}

export interface Rest {
  readonly listType: string | undefined;
  readonly listKeys: readonly string[];
  readonly required: readonly string[];
  readonly enum: readonly unknown[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly allOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
  readonly limits: Limits;
}

/** Undefined where there is no limit. */
export interface Limits {
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly pattern: string;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
}

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const readSchema = (source: JsonMap): SchemaNode => new ReadNode(source);

/** Schemas are large, and objects use little of them: what is below a node is read when it is first asked for. */
class ReadNode implements SchemaNode {
  readonly source: JsonMap;
  readonly types: readonly string[];
  readonly format: string;
  readonly nullable: boolean;
  readonly default: unknown;
  readonly keepsUnknown: boolean;
  readonly isResource: boolean;
  #properties: ReadonlyMap<string, SchemaNode> | undefined;
  #additional: SchemaNode | undefined;
  #items: SchemaNode | undefined;
  #rest: Rest | undefined;
  #leadsToResource: boolean | undefined;

  constructor(source: JsonMap) {
    this.source = source;
    this.types = source["x-kubernetes-int-or-string"] === true ? ["integer", "string"] : textsIn([source.type]);
    this.format = checkedFormat(this.types, textOf(source.format));
    this.nullable = source.nullable === true;
    this.default = source.default ?? undefined;
    this.keepsUnknown = source["x-kubernetes-preserve-unknown-fields"] === true;
    this.isResource = source["x-kubernetes-embedded-resource"] === true;
  }

  get properties(): ReadonlyMap<string, SchemaNode> {
    this.#properties ??= new Map(entriesOf(this.source.properties));
    return this.#properties;
  }
  get additional(): SchemaNode | boolean | undefined {
    const { additionalProperties: source } = this.source;
    if (!isMap(source)) return typeof source === "boolean" ? source : undefined;
    this.#additional ??= readSchema(source);
    return this.#additional;
  }
  get items(): SchemaNode | undefined {
    this.#items ??= nodeOf(this.source.items);
    return this.#items;
  }
  get rest(): Rest {
    this.#rest ??= restOf(this.source);
    return this.#rest;
  }
  get leadsToResource(): boolean {
    const inside = () => [...this.properties.values(), valueNode(this), this.items];
    this.#leadsToResource ??= this.isResource || inside().some((node) => node?.leadsToResource);
    return this.#leadsToResource;
  }
}

const restOf = (source: JsonMap): Rest => ({
  listType: textOf(source["x-kubernetes-list-type"]) || undefined,
  listKeys: textsIn(source["x-kubernetes-list-map-keys"]),
  required: textsIn(source.required),
  enum: Array.isArray(source.enum) ? source.enum : [],
  anyOf: nodesOf(source.anyOf),
  oneOf: nodesOf(source.oneOf),
  allOf: nodesOf(source.allOf),
  not: nodeOf(source.not),
  limits: limitsOf(source),
});

/** The schema of a field or an entry of an object; undefined where nothing is said about it. */
export const childNode = (node: SchemaNode | undefined, name: string): SchemaNode | undefined =>
  node?.properties.get(name) ?? valueNode(node);
export const valueNode = (node: SchemaNode | undefined): SchemaNode | undefined =>
  typeof node?.additional === "object" ? node.additional : undefined;

const limitsOf = (source: JsonMap): Limits => ({
  minimum: numberOf(source.minimum),
  exclusiveMinimum: source.exclusiveMinimum === true,
  maximum: numberOf(source.maximum),
  exclusiveMaximum: source.exclusiveMaximum === true,
  multipleOf: numberOf(source.multipleOf),
  minLength: numberOf(source.minLength),
  maxLength: numberOf(source.maxLength),
  pattern: textOf(source.pattern),
  minItems: numberOf(source.minItems),
  maxItems: numberOf(source.maxItems),
  uniqueItems: source.uniqueItems === true,
  minProperties: numberOf(source.minProperties),
  maxProperties: numberOf(source.maxProperties),
});

const nodeOf = (source: unknown): SchemaNode | undefined => (isMap(source) ? readSchema(source) : undefined);
const nodesOf = (sources: unknown): readonly SchemaNode[] =>
  Array.isArray(sources) ? sources.flatMap((source) => nodeOf(source) ?? []) : [];
const entriesOf = (sources: unknown): readonly (readonly [string, SchemaNode])[] =>
  isMap(sources)
    ? Object.entries(sources)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, source]) => [name, readSchema(isMap(source) ? source : {})])
    : [];
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const textsIn = (values: unknown): readonly string[] =>
  Array.isArray(values) ? values.filter((value) => typeof value === "string" && value !== "") : [];

const textFormats: ReadonlySet<string> = new Set(
  `bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn hexcolor rgbcolor byte
  password date duration datetime k8sshortname k8slongname`.split(/\s+/),
);

/** Upstream ignores formats that it does not know, and those of other types. */
const checkedFormat = (types: readonly string[], format: string): string =>
  isKnownFormat(types.length > 1 ? "" : (types[0] ?? ""), format) ? format : "";

/** Whether values of a type are checked to be of a format; no type stands for text. */
export function isKnownFormat(type: string, format: string): boolean {
  switch (type) {
    case "integer":
      return format === "int32" || format === "int64";
    case "number":
      return format === "float" || format === "double";
    case "":
    case "string":
      return textFormats.has(formatKey(format));
    default:
      return false;
  }
}

/** Formats are known with and without dashes: `date-time` and `datetime`. */
export const formatKey = (format: string): string => format.replaceAll("-", "");
