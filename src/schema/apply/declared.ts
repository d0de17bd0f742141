// Shapes of what is declared, compiled once. Upstream derives the same from OpenAPI.
import type { AnyField } from "../any.ts";
import type { FieldSpec, Type } from "../field.ts";
import type { AnyKind } from "../kind.ts";
import type { AnyStruct } from "../struct.ts";
import {
  type ApplyShape,
  deduced,
  type FieldShape,
  type KeyShape,
  keyedBy,
  keyShape,
  type MapShape,
  namedFields,
  noFields,
  scalarShapes,
  untypedAtomic,
} from "./shape.ts";
import { isWrittenWhenZero, scalarZeros } from "./zero.ts";

const compiled = { granular: new WeakMap<AnyStruct, ApplyShape>(), atomic: new WeakMap<AnyStruct, ApplyShape>() };

/** The shape of a kind or struct. */
export function shapeOf(subject: AnyKind | AnyStruct): ApplyShape {
  return "model" in subject ? subject.model.shape : structShape(subject, undefined);
}

function structShape(struct: AnyStruct, mapType: FieldSpec["mapType"]): ApplyShape {
  const atomic = mapType === undefined ? (struct.atomic ?? false) : mapType === "atomic";
  const cache = atomic ? compiled.atomic : compiled.granular;
  const present = cache.get(struct);
  if (present) return present;
  const shape: ApplyShape = { map: new LazyMapShape(struct, atomic) };
  cache.set(struct, shape);
  return shape;
}

/** Structs may contain themselves, so their fields are looked at when they are first asked for. */
class LazyMapShape implements MapShape {
  readonly atomic: boolean;
  readonly element = undefined;
  readonly #struct: AnyStruct;
  #fields: ReadonlyMap<string, FieldShape> | undefined;

  constructor(struct: AnyStruct, atomic: boolean) {
    this.#struct = struct;
    this.atomic = atomic;
  }

  get fields(): ReadonlyMap<string, FieldShape> {
    this.#fields ??= namedFields(
      new Map(
        Object.entries<AnyField>(this.#struct.fields).map(([name, { spec }]) => [name, typeShape(spec.type, spec)]),
      ),
    );
    return this.#fields;
  }
}

function typeShape(type: Type, { listType, keys = [], mapType, opaque }: Partial<FieldSpec>): ApplyShape {
  switch (type.is) {
    case "struct":
      return structShape(type.struct(), mapType);
    case "map":
      return { map: { atomic: mapType === "atomic", fields: noFields, element: typeShape(type.value, {}) } };
    case "list":
      return {
        list: {
          atomic: listType !== "set" && listType !== "map",
          keys: listType === "map" ? keyShapes(type.item, keys) : [],
          item: typeShape(type.item, {}),
        },
      };
    case "either":
      return deduced;
    case "rawExtension":
      return opaque ? untypedAtomic : scalarShapes.rawExtension;
    default:
      return scalarShapes[type.is];
  }
}

const keyShapes = (item: Type, keys: readonly string[]): readonly KeyShape[] =>
  keyedBy(keys.map((name) => keyShape(name, keyDefault(item, name))));

/** What stands for a key that an item leaves out. What is written even when zero has that zero as its default in OpenAPI. */
function keyDefault(item: Type, name: string): unknown {
  const spec = item.is === "struct" ? (item.struct().fields[name] as AnyField | undefined)?.spec : undefined;
  return spec?.default ?? (spec && (spec.zeroKey || isWrittenWhenZero(spec)) ? scalarZeros[spec.type.is] : undefined);
}
