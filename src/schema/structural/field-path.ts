// The field that a rule names as the one at fault, `.spec.labels['a.b']`, as messages show it: `spec.labels[a.b]`. Follows
// apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
import { type SchemaNode, valueNode } from "./schema.ts";

const step = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/y;

/** Undefined if the path leads nowhere. */
export function fieldPathOf(path: string, root: SchemaNode): string | undefined {
  let node: SchemaNode | undefined = root;
  let shown = "";
  step.lastIndex = 0;
  while (step.lastIndex < path.length) {
    const match = step.exec(path);
    if (!match) return undefined;
    const name: string = match[1] ?? (match[2] ?? "").replaceAll(/\\(.)/g, "$1");
    const property: SchemaNode | undefined = node.properties.get(name);
    if (property) shown += shown === "" ? name : `.${name}`;
    else shown += `[${name}]`;
    node = property ?? valueNode(node);
    if (!node) return undefined;
  }
  return shown;
}
