// Upstream: kubectl/pkg/cmd/explain and kubectl/pkg/explain/v2 (its plaintext template).
import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { command } from "../command.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { splitGroupVersion } from "../discovery/server-resource.ts";
import { KubectlError } from "../errors.ts";
import { stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { wrapWords } from "../word-wrap.ts";
import type { SwaggerQuestion } from "./explain-swagger.ts";

type Schema = Readonly<Record<string, unknown>>;

interface ExplainRequest {
  readonly document: Schema;
  readonly isRecursive: boolean;
  /** 0 means no limit. */
  readonly maxDepth: number;
}

const descriptionWidth = 76;
const fieldWidth = 78;
const mostEnumValues = 4;

export const explain = command({
  use: "explain TYPE [--recursive=FALSE|TRUE] [--api-version=api-version-group] [-o|--output=plaintext|plaintext-openapiv2]",
  long: "Describe the fields of a resource, as the server documents them. Fields are named by a path: TYPE.FIELD.FIELD.",
  examples: `# What a pod is
kubectl explain pods

# All fields there are
kubectl explain pods --recursive

# One field
kubectl explain pods.spec.containers`,
  flags: {
    "api-version": { type: "string", help: "Describe the resource in this group and version." },
    "max-depth": { type: "int", help: "With --recursive: how many levels of fields." },
    output: {
      type: "string",
      short: "o",
      default: "plaintext",
      help: "Format of the description: plaintext, or plaintext-openapiv2 for that of before 1.26.",
    },
    recursive: { type: "bool", short: "R", help: "Only the names of fields, with those below them." },
  },
  async run(session, args, flags) {
    const [path, ...more] = args;
    if (path === undefined)
      throw new KubectlError(
        'You must specify the type of resource to explain. Use "kubectl api-resources" for a complete list of supported resources.\n',
      );
    if (more.length > 0) throw new KubectlError("We accept only this format: explain RESOURCE\n");
    if (flags["max-depth"] > 0 && !flags.recursive) throw new KubectlError("--max-depth requires --recursive");
    if (flags["max-depth"] < 0) throw new KubectlError("--max-depth must be non-negative");
    const { mapping, fields } = await subject(session, path, flags["api-version"] !== "");
    const { group, version } = flags["api-version"] === "" ? mapping : splitGroupVersion(flags["api-version"]);
    const isOld = flags.output === "plaintext-openapiv2";
    if (!isOld && flags.output !== "plaintext") throw new KubectlError(`unrecognized format: ${flags.output}`);
    const index = isOld ? undefined : await indexOf(session);
    if (!index) {
      const question = { group, version, kind: mapping.kind, fields, isRecursive: flags.recursive };
      session.io.stdout.write(await explainedByV2(session, question));
      return;
    }
    const document = await documentOf(session, index, group, version, mapping.resource);
    const kind = kindIn(document, group, version, mapping.resource);
    const request = { document, isRecursive: flags.recursive, maxDepth: flags["max-depth"] };
    session.io.stdout.write(head(kind));
    session.print(body(request, kind, fields));
  },
});

/** The resource, and the fields that are named behind it. With a group, `deployments.apps.spec` begins with both. */
async function subject(
  session: Session,
  path: string,
  isExact: boolean,
): Promise<{ readonly mapping: RestMapping; readonly fields: readonly string[] }> {
  const mapper = await session.mapper();
  const parts = path.replace(/\.$/, "").split(".");
  const [resource = "", ...fields] = parts;
  if (!isExact)
    for (const one of await mapper.all()) {
      const full = `${one.resource}.${one.group}`;
      if (one.group !== "" && (path === full || path.startsWith(`${full}.`)))
        return {
          mapping: one,
          fields: path
            .slice(full.length + 1)
            .split(".")
            .filter((part) => part !== ""),
        };
    }
  return { mapping: await mapper.resourceFor(resource), fields };
}

/** What there is to read of OpenAPI v3; undefined of a server that is older. */
async function indexOf(session: Session): Promise<Schema | undefined> {
  try {
    return await session.cachedJson({ path: "/openapi/v3", accept: "application/json, */*" });
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

async function explainedByV2(session: Session, question: SwaggerQuestion): Promise<string> {
  const { explainSwagger } = await import("./explain-swagger.ts");
  const { definitions } = await (await session.client()).json({ path: "/openapi/v2", accept: "application/json" });
  return explainSwagger(isObject(definitions) ? definitions : {}, question);
}

async function documentOf(
  session: Session,
  { paths }: Schema,
  group: string,
  version: string,
  resource: string,
): Promise<Schema> {
  const name = group === "" ? `api/${version}` : `apis/${group}/${version}`;
  const entry = isObject(paths) ? paths[name] : undefined;
  const url = isObject(entry) ? stringIn(entry.serverRelativeURL) : "";
  if (url === "") throw new KubectlError(`couldn't find resource for "${group}/${version}, Resource=${resource}"`);
  return session.cachedJson({ path: url });
}

interface DocumentedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What the operations on the resource say it is of. */
function kindIn(document: Schema, group: string, version: string, resource: string): DocumentedKind {
  const prefix = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const { paths } = document;
  for (const path of [
    `${prefix}/${resource}`,
    `${prefix}/${resource}/{name}`,
    `${prefix}/namespaces/{namespace}/${resource}`,
    `${prefix}/namespaces/{namespace}/${resource}/{name}`,
  ]) {
    const operations = isObject(paths) ? paths[path] : undefined;
    for (const method of ["get", "post", "put", "patch", "delete"]) {
      const operation = isObject(operations) ? operations[method] : undefined;
      const found = isObject(operation) ? operation["x-kubernetes-group-version-kind"] : undefined;
      if (isObject(found))
        return { group: stringIn(found.group), version: stringIn(found.version), kind: stringIn(found.kind) };
    }
  }
  throw new KubectlError(`error: GVR (${group}/${version}, Resource=${resource}) not found in OpenAPI schema`);
}

const head = ({ group, kind, version }: DocumentedKind): string =>
  `${group === "" ? "" : `GROUP:      ${group}\n`}KIND:       ${kind}\nVERSION:    ${version}\n\n`;

function body(request: ExplainRequest, kind: DocumentedKind, fields: readonly string[]): string {
  const { components } = request.document;
  const schemas = isObject(components) && isObject(components.schemas) ? Object.entries(components.schemas) : [];
  const isMeant = (schema: Schema) =>
    list(schema["x-kubernetes-group-version-kind"]).some(
      (one) => one.group === kind.group && one.version === kind.version && one.kind === kind.kind,
    );
  const found = schemas
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .find(([, schema]) => isObject(schema) && isMeant(schema))?.[1];
  if (!isObject(found))
    throw new KubectlError(`error: GVK ${kind.group}/${kind.version}, Kind=${kind.kind} not found in OpenAPI schema`);
  const text = describe(request, found, fields, new Set());
  if (text === "") throw new KubectlError(`error: field ${JSON.stringify(fields.at(-1) ?? "")} does not exist`);
  return text;
}

/** Follows the path, then tells of the schema it ends at; empty if the path leads nowhere. */
function describe(
  request: ExplainRequest,
  schema: Schema,
  fields: readonly string[],
  seen: ReadonlySet<string>,
): string {
  const reference = stringIn(schema.$ref);
  const resolved = resolve(request, schema);
  const [field] = fields;
  if (field === undefined) {
    const text = description(request, resolved) || "<empty>";
    const below = fieldList(request, resolved, 1, new Set());
    return `DESCRIPTION:\n${indent(wrapWords(text, descriptionWidth), 4)}\n${below === "" ? "" : `FIELDS:\n${below}`}`;
  }
  if (reference !== "" && seen.has(reference)) return "";
  const next = new Set([...seen, reference]);
  const own =
    isObject(resolved.properties) && Object.hasOwn(resolved.properties, field) ? resolved.properties[field] : undefined;
  if (isObject(own)) {
    const named =
      fields.length === 1 ? `FIELD: ${field} <${typeName(request, own)}>\n${enumText(own, undefined)}\n\n` : "";
    const rest = describe(request, own, fields.slice(1), new Set());
    return rest === "" && fields.length > 1 ? "" : named + rest;
  }
  if (isObject(resolved.items)) return describe(request, resolved.items, fields, next);
  if (isObject(resolved.additionalProperties)) return describe(request, resolved.additionalProperties, fields, next);
  for (const part of list(resolved.allOf)) {
    const text = describe(request, part, fields, next);
    if (text !== "") return text;
  }
  return "";
}

function fieldList(request: ExplainRequest, schema: Schema, level: number, seen: ReadonlySet<string>): string {
  const reference = stringIn(schema.$ref);
  if (reference !== "" && seen.has(reference)) return "";
  const next = new Set([...seen, reference]);
  const resolved = resolve(request, schema);
  const properties = isObject(resolved.properties) ? Object.entries(resolved.properties) : [];
  const { isRecursive, maxDepth } = request;
  const own = properties
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => {
      if (!isObject(field)) return "";
      const isRequired = Array.isArray(resolved.required) && resolved.required.includes(name);
      const below =
        isRecursive && (maxDepth === 0 || level < maxDepth) ? fieldList(request, field, level + 1, next) : "";
      return fieldText(request, name, field, level, isRequired) + below;
    });
  const parts = [...list(resolved.allOf), ...[resolved.items, resolved.additionalProperties].filter(isObject)];
  return [...own, ...parts.map((part) => fieldList(request, part, level, next))].join("");
}

function fieldText(request: ExplainRequest, name: string, field: Schema, level: number, isRequired: boolean): string {
  const width = level * 2;
  const line = `${" ".repeat(width)}${name}\t<${typeName(request, field)}>${isRequired ? " -required-" : ""}${enumText(field, width)}\n`;
  if (request.isRecursive) return line;
  const text = stringIn(field.description) || "<no description>";
  return `${line}${indent(wrapWords(text, fieldWidth - width), width + 2)}\n\n`;
}

/** With a width, the first few in one line; else all, one in each. */
function enumText(field: Schema, width: number | undefined): string {
  const values = Array.isArray(field.enum) ? field.enum.map((value) => (value === "" ? '""' : String(value))) : [];
  if (values.length === 0) return "";
  if (width === undefined) return `ENUM:${values.map((value) => `\n    ${value}`).join("")}`;
  const shown = values.slice(0, mostEnumValues).join(", ");
  return `\n${" ".repeat(width)}enum: ${shown}${values.length > mostEnumValues ? ", ...." : ""}`;
}

function description(request: ExplainRequest, schema: Schema): string {
  const resolved = resolve(request, schema);
  const own = stringIn(resolved.description);
  const parts = [...list(resolved.allOf), ...[resolved.items, resolved.additionalProperties].filter(isObject)];
  return `${own === "" ? "" : `${own}\n`}${parts.map((part) => description(request, part)).join("")}`;
}

/** `string`, `[]Container`, `map[string]string`, `Object`… */
function typeName(request: ExplainRequest, schema: Schema): string {
  const { items, additionalProperties, allOf, properties, type } = schema;
  if (isObject(items)) return `[]${typeName(request, items)}`;
  if (isObject(additionalProperties)) return `map[string]${typeName(request, additionalProperties)}`;
  const [only, ...others] = list(allOf);
  if (only && others.length === 0 && properties === undefined) return typeName(request, only);
  const reference = stringIn(schema.$ref);
  if (reference === "") return type === "object" ? "Object" : stringIn(type) || "Object";
  const target = resolve(request, schema);
  const isPlain = target !== schema && target.type !== undefined && target.type !== "object";
  return isPlain ? stringIn(target.type) : (reference.split("/").at(-1)?.split(".").at(-1) ?? "Object");
}

function resolve({ document }: ExplainRequest, schema: Schema): Schema {
  const reference = stringIn(schema.$ref);
  if (!reference.startsWith("#")) return schema;
  let target: unknown = document;
  for (const part of reference
    .slice(1)
    .split("/")
    .filter((one) => one !== ""))
    target = isObject(target) && Object.hasOwn(target, part) ? target[part] : undefined;
  return isObject(target) ? target : schema;
}

const list = (value: unknown): readonly Schema[] =>
  Array.isArray(value) ? (value.filter(isObject) as KubeObject[]) : [];
const indent = (text: string, width: number): string =>
  " ".repeat(width) + text.replaceAll("\n", `\n${" ".repeat(width)}`);
