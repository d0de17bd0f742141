// Filling in what a client left out. Follows apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go.
import { setOwn } from "#base/collections.ts";
import { copyJson } from "../apply/value.ts";
import { isMap, type SchemaNode, valueNode } from "./schema.ts";

/** Works in place on a value its caller owns, from the outside in: what a default brings has defaults of its own. */
export function applyNodeDefaults(value: unknown, node: SchemaNode | undefined): void {
  if (node === undefined) return;
  if (Array.isArray(value)) {
    const { items } = node;
    for (const [i, item] of value.entries()) {
      if (isAskedFor(item, items)) value[i] = copyJson(items?.default);
      applyNodeDefaults(value[i], items);
    }
  } else if (isMap(value)) fillFields(value as Record<string, unknown>, node);
}

function fillFields(object: Record<string, unknown>, node: SchemaNode): void {
  for (const [name, property] of node.properties)
    if (property.default !== undefined && (!Object.hasOwn(object, name) || isAskedFor(object[name], property)))
      setOwn(object, name, copyJson(property.default));
  const values = valueNode(node);
  for (const name of Object.keys(object)) {
    const property = node.properties.get(name);
    if (!property && isAskedFor(object[name], values)) setOwn(object, name, copyJson(values?.default));
    applyNodeDefaults(object[name], property ?? values);
  }
}

/** A null that does not belong there asks for the default. */
const isAskedFor = (value: unknown, node: SchemaNode | undefined): boolean =>
  value === null && node !== undefined && !node.nullable && node.default !== undefined;
