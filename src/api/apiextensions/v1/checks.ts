// The rules of custom resource definitions. Upstream reads a schema, columns and subresources that all versions share as
// if they stood once at the top (`spec.validation`), and names that place in its answers: so do we.
// Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go.
import { equal, repeats } from "#base/collections.ts";
import { isFilledIn } from "#schema/defaults.ts";
import { dns1035Label, dns1123Subdomain } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, type Problem, required, tooMany } from "#schema/index.ts";
import { oneOf } from "../../core/v1/checks/problems.ts";
import { internalForm } from "../../internal-form.ts";
import { unchanged } from "../../rules.ts";
import { checkClientConfig } from "../../webhooks.ts";
import { approvalAnnotation, approvalOf } from "./approval.ts";
import {
  type CustomResourceColumnDefinition,
  type CustomResourceConversion,
  type CustomResourceDefinitionNames,
  type CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  type CustomResourceSubresources,
} from "./custom-resource-definition.ts";
import { checkDefaults } from "./default-checks.ts";
import type { CustomResourceValidation, JSONSchemaProps } from "./json-schema.ts";
import { checkRuleExpressions } from "./rule-checks.ts";
import { checkSchema, fieldAt } from "./schema-checks.ts";
import { checkStructural } from "./structural.ts";

const scopes = ["Cluster", "Namespaced"];

export function* checkSpec(spec: CustomResourceDefinitionSpec): Iterable<Problem> {
  const { group, versions, names } = spec;
  if (group === "") yield required("group");
  else if (dns1123Subdomain(group).length > 0) yield invalid("group", dns1123Subdomain(group).join(","));
  else if (!group.includes(".")) yield invalid("group", "should be a domain with at least one dot");
  yield* oneOf("scope", spec.scope, scopes);
  for (const [i, { schema }] of versions.entries())
    if (!schema?.openAPIV3Schema) yield required(`versions[${i}].schema.openAPIV3Schema`);
  const parts = partsOf(versions);
  for (const [i, version] of versions.entries()) yield* checkVersion(version, `versions[${i}]`, parts);
  const shown = versions.map((version) => shownVersion(version, parts));
  if (new Set(versions.map(({ name }) => name)).size < versions.length)
    yield invalid("versions", "must contain unique version names", shown);
  if (versions.filter(({ storage }) => storage).length !== 1)
    yield invalid(
      "versions",
      "must have exactly one version marked as storage version",
      isFilledIn(versions) ? null : shown,
    );
  // Upstream's internal spec has the name of the first version at the top, too.
  const first = versions[0]?.name ?? "";
  const details = first === "" ? [] : dns1035Label(first);
  if (details.length > 0) yield invalid("version", details.join(","), first);
  for (const name of ["plural", "singular", "kind", "listKind"] as const)
    if (!names[name]) yield required(`names.${name}`);
  yield* checkNames(names, "names");
  if (versions[0]) yield* checkShared(versions[0], parts);
  yield* checkConversion(spec.conversion);
}

/** What cannot change; of a definition that is served, neither can the scope and the kind of its objects. */
export function* checkSpecUpdate(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec,
  isServed: boolean,
): Iterable<Problem> {
  const fields = ["group", "names.plural"];
  yield* unchanged(spec, old, ...(isServed ? ["scope", "names.kind", ...fields] : fields));
}

type Version = CustomResourceDefinitionVersion;

/** Parts of versions that upstream keeps at the top of its internal spec if they are the same in all versions. */
interface Parts {
  readonly shared: ReadonlySet<keyof Version>;
  readonly hasStatus: boolean;
}

const shareable = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"] as const;

const partsOf = (versions: readonly Version[]): Parts => ({
  shared: new Set(shareable.filter((part) => versions.every((version) => equal(version[part], versions[0]?.[part])))),
  hasStatus: versions.some(({ subresources }) => subresources?.status),
});

const shownVersion = (version: Version, { shared }: Parts) =>
  internalForm(
    CustomResourceDefinitionVersion,
    Object.fromEntries(Object.entries(version).filter(([part]) => !shared.has(part as keyof Version))),
  );

function* checkVersion(version: Version, path: string, { shared }: Parts): Iterable<Problem> {
  const details = dns1035Label(version.name);
  if (details.length > 0) yield invalid(`${path}.name`, details.join(","));
  for (const detail of warningProblems(version)) yield invalid(`${path}.deprecationWarning`, detail);
  const { schema, subresources } = version;
  if (!shared.has("schema")) yield* checkValidation(schema, subresources?.status !== undefined, `${path}.schema`);
  if (!shared.has("subresources")) yield* checkSubresources(subresources, `${path}.subresources`);
  if (!shared.has("additionalPrinterColumns")) yield* checkColumns(version, `${path}.additionalPrinterColumns`);
  if (!shared.has("selectableFields")) yield* checkSelectable(version, `${path}.selectableFields`);
}

function* checkShared(version: Version, { shared, hasStatus }: Parts): Iterable<Problem> {
  if (shared.has("schema")) yield* checkValidation(version.schema, hasStatus, "validation");
  if (shared.has("subresources")) yield* checkSubresources(version.subresources, "subresources");
  if (shared.has("additionalPrinterColumns")) yield* checkColumns(version, "additionalPrinterColumns");
  if (shared.has("selectableFields")) yield* checkSelectable(version, "selectableFields");
}

function* checkColumns({ additionalPrinterColumns = [] }: Version, path: string): Iterable<Problem> {
  for (const [i, column] of additionalPrinterColumns.entries()) yield* checkColumn(column, `${path}[${i}]`);
}

function* warningProblems({
  deprecated,
  deprecationWarning: warning,
}: CustomResourceDefinitionVersion): Iterable<string> {
  if (warning === undefined) return;
  if (!deprecated) {
    yield "can only be set for deprecated versions";
    return;
  }
  if (warning.length > 256) yield "must be <= 256 characters long";
  if (warning === "") yield "must not be an empty string";
  const odd = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(warning);
  if (odd) yield `must only contain printable UTF-8 characters; non-printable character found at index ${odd.index}`;
}

const allowedAtRoot = [
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems",
  "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations",
]
  .join(" ")
  .split(" ");
/** `x-kubernetes-validations` is XValidations in Go, `maxItems` is MaxItems. */
const goName = (field: string): string =>
  field.startsWith("x-kubernetes-")
    ? `X${field.slice("x-kubernetes".length).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())}`
    : field.charAt(0).toUpperCase() + field.slice(1);

function* checkValidation(
  validation: CustomResourceValidation | undefined,
  hasStatus: boolean,
  path: string,
): Iterable<Problem> {
  const schema = validation?.openAPIV3Schema;
  if (!schema) return;
  const root = `${path}.openAPIV3Schema`;
  if (hasStatus) yield* checkRoot(schema, root);
  if (schema.nullable) yield forbidden(`${root}.nullable`, "nullable cannot be true at the root");
  const unstructured = [...checkStructural(schema, root)];
  const defaults = unstructured.length === 0 ? [...checkDefaults(schema, root, true)] : [];
  const problems = [...unstructured, ...defaults, ...checkSchema(schema, root)];
  yield* problems;
  // Of a schema that is not sound, types are not known, and what would be said of its rules would not help.
  if (problems.length === 0) yield* checkRuleExpressions(schema, root);
}

function* checkRoot(schema: JSONSchemaProps, path: string): Iterable<Problem> {
  const wrong = Object.keys(schema).find((field) =>
    field === "type" ? schema.type !== "object" : !allowedAtRoot.includes(goName(field)),
  );
  if (wrong === "type")
    yield invalid(
      `${path}.type`,
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      schema.type,
    );
  else if (wrong)
    yield invalid(
      path,
      `only [${allowedAtRoot.join(" ")}] fields are allowed at the root of the schema if the status subresource is enabled`,
      schema,
    );
}

function* checkSubresources(subresources: CustomResourceSubresources | undefined, path: string): Iterable<Problem> {
  const scale = subresources?.scale;
  if (!scale) return;
  yield* checkScalePath(
    `${path}.scale.specReplicasPath`,
    scale.specReplicasPath,
    [".spec."],
    "should be a json path under .spec",
  );
  yield* checkScalePath(
    `${path}.scale.statusReplicasPath`,
    scale.statusReplicasPath,
    [".status."],
    "should be a json path under .status",
  );
  if (scale.labelSelectorPath)
    yield* checkScalePath(
      `${path}.scale.labelSelectorPath`,
      scale.labelSelectorPath,
      [".spec.", ".status."],
      "should be a json path under either .spec or .status",
    );
}

function* checkScalePath(field: string, path: string, under: readonly string[], words: string): Iterable<Problem> {
  if (path === "") yield required(field);
  else if (!path.startsWith(".")) yield invalid(field, "must be a simple json path starting with .", path);
  else if (!under.some((start) => path.startsWith(start))) yield invalid(field, words, path);
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

function* checkColumn(
  { name, type, format, jsonPath }: CustomResourceColumnDefinition,
  path: string,
): Iterable<Problem> {
  const words = `must be one of ${columnTypes.join(",")}`;
  if (name === "") yield required(`${path}.name`);
  if (type === "") yield required(`${path}.type`, words);
  else if (!columnTypes.includes(type)) yield invalid(`${path}.type`, words, type);
  if (format && !columnFormats.includes(format))
    yield invalid(`${path}.format`, `must be one of ${columnFormats.join(",")}`, format);
  if (jsonPath === "") yield required(`${path}.JSONPath`);
  else if (!jsonPath.startsWith("."))
    yield invalid(`${path}.JSONPath`, "must be a simple json path starting with .", jsonPath);
}

const mostSelectable = 8;

function* checkSelectable(
  { selectableFields = [], schema }: CustomResourceDefinitionVersion,
  path: string,
): Iterable<Problem> {
  const root = schema?.openAPIV3Schema;
  if (!root || selectableFields.length === 0) return;
  const seen = new Set<string>();
  for (const [i, { jsonPath }] of selectableFields.entries()) {
    const field = `${path}[${i}].jsonPath`;
    const found = fieldAt(root, jsonPath, false);
    if (jsonPath === "") yield required(field);
    else if ("problem" in found) yield invalid(field, `is an invalid path: ${found.problem}`, jsonPath);
    else {
      if (/^\.metadata(\.|$)/.test(jsonPath)) yield invalid(field, "must not point to fields in metadata", jsonPath);
      if (!["string", "boolean", "integer"].includes(found.schema.type ?? ""))
        yield invalid(
          field,
          "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
          jsonPath,
        );
      if (seen.has(jsonPath)) yield duplicate(field, jsonPath);
      seen.add(jsonPath);
    }
  }
  if (seen.size > mostSelectable) yield tooMany(path, seen.size, mostSelectable);
}

export function* checkNames(names: CustomResourceDefinitionNames, path: string): Iterable<Problem> {
  const lists = { shortNames: names.shortNames ?? [], categories: names.categories ?? [] };
  for (const field of ["plural", "singular"] as const) {
    const details = dns1035Label(names[field] ?? "");
    if (names[field] && details.length > 0) yield invalid(`${path}.${field}`, details.join(","));
  }
  for (const field of ["kind", "listKind"] as const) {
    const details = dns1035Label((names[field] ?? "").toLowerCase());
    if (names[field] && details.length > 0)
      yield invalid(`${path}.${field}`, `may have mixed case, but should otherwise match: ${details.join(",")}`);
  }
  if (names.kind && names.kind === names.listKind)
    yield invalid(`${path}.listKind`, "kind and listKind may not be the same");
  for (const [field, list] of Object.entries(lists))
    for (const [i, name] of list.entries()) {
      const details = dns1035Label(name);
      if (details.length > 0) yield invalid(`${path}.${field}[${i}]`, details.join(","));
    }
}

const reviewVersions = ["v1", "v1beta1"];

function* checkConversion({ strategy, webhook }: CustomResourceConversion): Iterable<Problem> {
  if (strategy !== "Webhook") {
    if (webhook?.clientConfig)
      yield forbidden("conversion.webhookClientConfig", "should not be set when strategy is not set to Webhook");
    if ((webhook?.conversionReviewVersions ?? []).length > 0)
      yield forbidden("conversion.conversionReviewVersions", "should not be set when strategy is not set to Webhook");
    return;
  }
  const path = "conversion.webhookClientConfig";
  if (!webhook?.clientConfig) yield required(path, "required when strategy is set to Webhook");
  else yield* checkClientConfig(webhook.clientConfig, path);
  const versions = webhook?.conversionReviewVersions ?? [];
  const field = "conversion.conversionReviewVersions";
  if (versions.length === 0) {
    yield required(field);
    return;
  }
  const isRepeated = repeats<string>();
  for (const [i, version] of versions.entries()) {
    if (isRepeated(version)) yield invalid(`${field}[${i}]`, "duplicate version", version);
    else for (const detail of dns1035Label(version)) yield invalid(`${field}[${i}]`, detail, version);
  }
  if (!versions.some((version) => reviewVersions.includes(version)))
    yield invalid(field, `must include at least one of ${reviewVersions.join(", ")}`, versions);
}

/** Objects may be stored in each of these versions, so none may vanish before all were written anew. */
export function* checkStoredVersions(
  stored: readonly string[],
  versions: readonly CustomResourceDefinitionVersion[],
): Iterable<Problem> {
  const path = "status.storedVersions";
  if (stored.length === 0) {
    yield invalid(path, "must have at least one stored version", null);
    return;
  }
  // Each stored version stands for one version, so that a second one of the same name is without.
  const left = new Set(stored);
  for (const { name, storage } of versions) {
    if (storage && !left.has(name)) yield invalid(path, `must have the storage version ${name}`);
    left.delete(name);
  }
  for (const [i, name] of stored.entries())
    if (left.has(name))
      yield invalid(
        `${path}[${i}]`,
        `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
      );
}

type Annotations = Readonly<Record<string, string>> | undefined;

/** Groups of the Kubernetes project itself need a word of approval. */
export function* checkApproval(
  group: string,
  annotations: Annotations,
  old: { readonly annotations?: Annotations } | undefined,
): Iterable<Problem> {
  const approval = approvalOf(group, annotations);
  if (!approval || (old && approvalOf(group, old.annotations)?.state === approval.state)) return;
  const field = `metadata.annotations[${approvalAnnotation}]`;
  if (approval.state === "missing") yield required(field, approval.message);
  if (approval.state === "invalid") yield invalid(field, approval.message);
}
