// An object as it comes back from protobuf, where Go's structs cannot tell zero from absent. Written the slow and plain way, to test the
// codecs against.
import type { AnyField } from "../any.ts";
import type { FieldSpec, Type } from "../field.ts";
import type { AnyStruct } from "../struct.ts";

/** Drops `apiVersion` and `kind` of structs inside others: protobuf has them only around the whole. */
export function normalized(struct: AnyStruct, value: Readonly<Record<string, any>>): Record<string, any> {
  const entries = Object.entries<AnyField>(struct.fields)
    .filter(([, { spec }]) => !spec.envelope)
    .map(([name, { spec }]) => [name, ofField(spec, value[name])] as const)
    .filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries);
}

function ofField(spec: FieldSpec, value: any): unknown {
  const { type } = spec;
  const isAlwaysWritten = (spec.required === true || spec.always === true) && !spec.omitEmpty;
  if (type.is === "list" || type.is === "map") {
    const isEmpty = value === undefined || Object.keys(value).length === 0;
    if (isEmpty) return isAlwaysWritten ? (type.is === "list" ? [] : {}) : undefined;
    return ofType(type, value);
  }
  if (type.is === "struct") {
    const isValue = !spec.pointer && (spec.required === true || spec.default !== undefined);
    return value === undefined && !isValue ? undefined : ofType(type, value ?? {});
  }
  if (value === undefined || value === null) {
    if (spec.pointer) return undefined;
    return type.is === "quantity" ? "0" : isAlwaysWritten ? zeros[type.is] : undefined;
  }
  if (!spec.pointer && !isAlwaysWritten && value === zeros[type.is]) return undefined;
  return ofType(type, value);
}

const zeros: Readonly<Record<string, unknown>> = {
  string: "",
  bytes: "",
  bool: false,
  int32: 0,
  int64: 0,
  double: 0,
  intOrString: 0,
};

function ofType(type: Type, value: any): unknown {
  switch (type.is) {
    case "struct":
      return normalized(type.struct(), value);
    case "list":
      return value.map((item: unknown) => ofType(type.item, item));
    case "map":
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, ofType(type.value, one)]));
    case "either":
      return typeof value === "object" && !Array.isArray(value)
        ? normalized(type.either.struct(), value)
        : ofType(type.either.other, value);
    default:
      return value;
  }
}
