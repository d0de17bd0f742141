import type { FlagDeclarations } from "../../flags.ts";
import { manifestFlags } from "../../shared-flags.ts";

export const getFlags = {
  "all-namespaces": { type: "bool", short: "A", help: "Objects of all namespaces, whatever --namespace says." },
  "allow-missing-template-keys": {
    type: "bool",
    default: true,
    help: "A field that is missing in a template is no error.",
  },
  "chunk-size": { type: "int", default: 500, help: "Objects per request of a large list; 0 asks for all at once." },
  "field-selector": { type: "string", help: "Only objects whose fields are like this: key1=value1,key2!=value2." },
  ...manifestFlags("The manifests of the objects to get."),
  "ignore-not-found": { type: "bool", help: "An object that does not exist is no error." },
  "label-columns": { type: "stringSlice", short: "L", help: "Labels to show as columns; case-sensitive." },
  "no-headers": { type: "bool", help: "Leave out the headers." },
  output: {
    type: "string",
    short: "o",
    help: "Output format: json, yaml, kyaml, name, go-template, go-template-file, template, templatefile, jsonpath, jsonpath-as-json, jsonpath-file, custom-columns, custom-columns-file, wide.",
  },
  "output-watch-events": { type: "bool", help: "With --watch: show what happened to each object." },
  raw: { type: "string", help: "Ask the server for this path and print what it says." },
  selector: {
    type: "string",
    short: "l",
    help: "Only objects with labels like this: key1=value1,key2 in (a,b),!key3.",
  },
  "server-print": { type: "bool", default: true, help: "Let the server make the table." },
  "show-kind": { type: "bool", help: "Show the kind of each object before its name." },
  "show-labels": { type: "bool", help: "Show all labels as the last column." },
  "show-managed-fields": { type: "bool", help: "Keep managedFields in JSON and YAML." },
  "sort-by": { type: "string", help: "Sort by this field, a JSONPath such as .metadata.name." },
  subresource: { type: "string", help: "Get this part of the object: status, scale, resize." },
  template: { type: "string", help: "The template, or its file, for -o go-template and go-template-file." },
  tree: { type: "bool", help: "Show each object with all that it owns below it." },
  watch: {
    type: "bool",
    short: "w",
    help: "After the list, show changes as they happen; of several types at once on a terminal.",
  },
  "watch-only": { type: "bool", help: "Show changes as they happen, without the list." },
} as const satisfies FlagDeclarations;
