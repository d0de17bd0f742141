// The types of the Common Expression Language, and how they are written in messages. Follows cel-go's common/types and checker/format.go.

export type TypeKind =
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "null"
  | "timestamp"
  | "duration"
  | "dyn"
  | "error"
  | "list"
  | "map"
  | "type"
  | "opaque"
  | "struct"
  | "parameter";

/** A type. Structs are known by their names; what fields they have is in a `StructTypes`. */
export interface CelType {
  readonly kind: TypeKind;
  /** What `type(x)` shows at run time. */
  readonly name: string;
  readonly parameters: readonly CelType[];
}

function simple(kind: TypeKind, name: string): CelType {
  return { kind, name, parameters: [] };
}

export const boolType = simple("bool", "bool");
export const intType = simple("int", "int");
export const uintType = simple("uint", "uint");
export const doubleType = simple("double", "double");
export const stringType = simple("string", "string");
export const bytesType = simple("bytes", "bytes");
export const nullType = simple("null", "null_type");
export const timestampType = simple("timestamp", "google.protobuf.Timestamp");
export const durationType = simple("duration", "google.protobuf.Duration");
export const dynType = simple("dyn", "dyn");
export const errorType = simple("error", "error");

export function listType(element: CelType): CelType {
  return { kind: "list", name: "list", parameters: [element] };
}

export function mapType(key: CelType, value: CelType): CelType {
  return { kind: "map", name: "map", parameters: [key, value] };
}

export function typeType(of?: CelType): CelType {
  return { kind: "type", name: "type", parameters: of ? [of] : [] };
}

export function opaqueType(name: string, ...parameters: readonly CelType[]): CelType {
  return { kind: "opaque", name, parameters };
}

export function optionalType(of: CelType): CelType {
  return opaqueType("optional_type", of);
}

export function structType(name: string): CelType {
  return simple("struct", name);
}

export function typeParameter(name: string): CelType {
  return simple("parameter", name);
}

export function isOptionalType(type: CelType): boolean {
  return type.kind === "opaque" && type.name === "optional_type";
}

export function isDynOrError(type: CelType): boolean {
  return type.kind === "dyn" || type.kind === "error";
}

/** The parameter at `index`; a list, map or optional made by the functions above always has it. */
export function parameter(type: CelType, index: number): CelType {
  return type.parameters[index] ?? dynType;
}

export function isSameType(a: CelType, b: CelType): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.name !== b.name || a.parameters.length !== b.parameters.length) return false;
  return a.parameters.every((type, i) => isSameType(type, parameter(b, i)));
}

/** The type as error messages show it. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case "null":
      return "null";
    case "error":
      return "!error!";
    case "timestamp":
    case "duration":
    case "dyn":
      return type.kind;
    default:
      if (type.parameters.length === 0) return type.name;
      return `${type.name}(${type.parameters.map(formatType).join(", ")})`;
  }
}

/** The call of a function as error messages show it. */
export function formatCall(argumentTypes: readonly CelType[], isMember: boolean): string {
  const [target, ...rest] = argumentTypes;
  if (isMember && target) return `${formatType(target)}.(${rest.map(formatType).join(", ")})`;
  return `(${argumentTypes.map(formatType).join(", ")})`;
}

/** The structs that an environment knows. */
export interface StructTypes {
  /** The type of a field, undefined if the struct has none of that name. */
  field(struct: string, field: string): CelType | undefined;
  has(struct: string): boolean;
}
