// Shapes of custom resources, from the schemas of their definitions.
import {
  type ApplyListShape,
  type ApplyShape,
  deduced,
  type FieldShape,
  keyedBy,
  keyShape,
  type MapShape,
  namedFields,
  scalarShapes,
  untyped,
  untypedAtomic,
} from "./shape.ts";
import { isMap, type JsonMap } from "./value.ts";

interface Context {
  /** The shape of metadata, which no schema describes. */
  readonly metadata: ApplyShape;
  /** Fields that are not declared are kept: an object says so for itself and for all below it. */
  readonly keepsUnknown: boolean;
}

/** The shape of a whole object: what all objects have, and what its schema says. */
export function objectShape(schema: JsonMap, metadata: ApplyShape): ApplyShape {
  const map = mapShape(schema, { metadata, keepsUnknown: keepsUnknown(schema) });
  return { map: { ...map, atomic: false, fields: withObjectFields(map.fields, metadata) } };
}

const withObjectFields = (
  fields: ReadonlyMap<string, FieldShape>,
  metadata: ApplyShape,
): ReadonlyMap<string, FieldShape> =>
  namedFields(
    new Map([
      ...[...fields].map(([name, { shape }]) => [name, shape] as const),
      ["apiVersion", scalarShapes.string],
      ["kind", scalarShapes.string],
      ["metadata", metadata],
    ]),
  );

const keepsUnknown = (schema: JsonMap): boolean => schema["x-kubernetes-preserve-unknown-fields"] === true;

function shapeOfSchema(schema: unknown, outer: Context): ApplyShape {
  if (!isMap(schema)) return deduced;
  const context = keepsUnknown(schema) ? { ...outer, keepsUnknown: true } : outer;
  switch (schema.type) {
    case "object":
      return { map: mapShape(schema, context) };
    case "array":
      return { list: listShape(schema, context) };
    case "string":
      return !schema.format || schema.format === "byte" ? scalarShapes.string : untyped;
    case "integer":
    case "number":
      return scalarShapes.double;
    case "boolean":
      return scalarShapes.bool;
    default:
      return { scalar: "untyped", list: listShape(schema, context), map: mapShape(schema, context) };
  }
}

function mapShape(schema: JsonMap, context: Context): MapShape {
  const { properties, additionalProperties } = schema;
  const declared = namedFields(
    new Map(
      Object.entries(isMap(properties) ? properties : {}).map(([name, property]) => [
        name,
        shapeOfSchema(property, context),
      ]),
    ),
  );
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  return {
    atomic: schema["x-kubernetes-map-type"] === "atomic",
    fields: isEmbedded ? withObjectFields(declared, context.metadata) : declared,
    element: elementShape(additionalProperties, context, declared.size === 0 && !isEmbedded),
  };
}

/** An object of which nothing is said may hold anything. */
function elementShape(additional: unknown, context: Context, saysNothing: boolean): ApplyShape | undefined {
  if (isMap(additional)) return shapeOfSchema(additional, context);
  if (additional === undefined) return context.keepsUnknown || saysNothing ? deduced : undefined;
  return additional === true ? deduced : undefined;
}

function listShape(schema: JsonMap, context: Context): ApplyListShape {
  const type = schema["x-kubernetes-list-type"];
  const { items } = schema;
  const names = schema["x-kubernetes-list-map-keys"];
  const keys = type === "map" && Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  return {
    atomic: type !== "set" && type !== "map",
    keys: keyedBy(keys.map((name) => keyShape(name, defaultOf(items, name)))),
    item: items === undefined ? untypedAtomic : shapeOfSchema(items, context),
  };
}

function defaultOf(items: unknown, name: string): unknown {
  const properties = isMap(items) ? items.properties : undefined;
  const property = isMap(properties) ? properties[name] : undefined;
  return isMap(property) ? property.default : undefined;
}
