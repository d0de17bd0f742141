// Shapes of custom resources, from the schemas of their definitions.
import { fieldElement } from "./element.ts";
import {
  anyObject,
  deduced,
  type FieldShape,
  keyedBy,
  keyShape,
  type ListShape,
  type MapShape,
  type Shape,
  scalarShapes,
  untyped,
} from "./shape.ts";
import { isMap, type JsonMap } from "./value.ts";

/** The shape of a whole object: what all objects have, and what its schema says. A schema may not say anything about metadata. */
export function objectShape(schema: JsonMap, metadata: Shape): Shape {
  const { map = anyObject.map } = shapeOfSchema(schema, metadata);
  return { map: { ...(map as MapShape), atomic: false, fields: withObjectFields(map?.fields ?? new Map(), metadata) } };
}

const withObjectFields = (fields: ReadonlyMap<string, FieldShape>, metadata: Shape): ReadonlyMap<string, FieldShape> =>
  new Map([
    ...fields,
    ["apiVersion", { element: fieldElement("apiVersion"), shape: scalarShapes.string }],
    ["kind", { element: fieldElement("kind"), shape: scalarShapes.string }],
    ["metadata", { element: fieldElement("metadata"), shape: metadata }],
  ]);

function shapeOfSchema(schema: JsonMap, metadata: Shape): Shape {
  if (schema["x-kubernetes-int-or-string"] === true) return untyped;
  switch (schema.type) {
    case "object":
      return { map: mapShape(schema, metadata) };
    case "array":
      return { list: listShape(schema, metadata) };
    case "string":
      return schema.format === undefined || schema.format === "" || schema.format === "byte"
        ? scalarShapes.string
        : untyped;
    case "integer":
    case "number":
      return scalarShapes.double;
    case "boolean":
      return scalarShapes.bool;
    default:
      return deduced;
  }
}

function mapShape(schema: JsonMap, metadata: Shape): MapShape {
  const atomic = schema["x-kubernetes-map-type"] === "atomic";
  const { properties, additionalProperties } = schema;
  const keepsAll = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  const entries = isMap(properties) ? Object.entries(properties) : [];
  const declared = new Map(
    entries.map(([name, property]) => [
      name,
      { element: fieldElement(name), shape: isMap(property) ? shapeOfSchema(property, metadata) : deduced },
    ]),
  );
  const fields = isEmbedded ? withObjectFields(declared, metadata) : declared;
  if (isMap(additionalProperties)) return { atomic, fields, element: shapeOfSchema(additionalProperties, metadata) };
  // An object of which nothing is said may hold anything.
  const open = keepsAll || additionalProperties === true || fields.size === 0;
  return { atomic, fields, element: open ? deduced : undefined };
}

function listShape(schema: JsonMap, metadata: Shape): ListShape {
  const type = schema["x-kubernetes-list-type"];
  const items = isMap(schema.items) ? schema.items : {};
  const names = schema["x-kubernetes-list-map-keys"];
  const keys = type === "map" && Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  return {
    atomic: type !== "set" && type !== "map",
    keys: keyedBy(keys.map((name) => keyShape(name, defaultOf(items, name)))),
    item: shapeOfSchema(items, metadata),
  };
}

function defaultOf(items: JsonMap, name: string): unknown {
  const property = isMap(items.properties) ? items.properties[name] : undefined;
  return isMap(property) ? property.default : undefined;
}
