// The kinds that a definition defines: one for each version that is served, and the one that is stored.
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from "#api/apiextensions/v1/custom-resource-definition.ts";
import { compareVersions } from "#schema/discovery.ts";
import { JsonPath } from "#schema/json-path.ts";
import type { AnyKind, Conversion, PeerVersions, ScalePaths, Verb } from "#schema/kind.ts";
import { type StructuralKindRules, structuralKind } from "#schema/structural/kind.ts";
import type { Rules } from "#schema/structural/rules.ts";
import { columnsOf, firstOf } from "./columns.ts";
import { relabelled } from "./relabel.ts";
import { scaleProblems, scaleStatusProblems } from "./scale-checks.ts";
import type { ConvertAll } from "./webhook-conversion.ts";

type Version = CustomResourceDefinitionVersion;

export interface KindsOptions {
  /** What decides by the rules in `x-kubernetes-validations`. */
  readonly rules?: Rules | undefined;
  /** Makes what calls the webhook of a definition that has one. */
  readonly webhookOf?: (conversion: CustomResourceConversion) => ConvertAll;
}

/** The kinds to serve, under the names that were accepted. Those that are not stored lead to the one that is, which may not be served. */
export function kindsOf(definition: CustomResourceDefinition, options: KindsOptions = {}): readonly AnyKind[] {
  const { versions } = definition.spec;
  const storage = versions.find((version) => version.storage);
  if (!storage) return [];
  const { conversion } = definition.spec;
  const remote = conversion?.strategy === "Webhook" ? options.webhookOf?.(conversion) : undefined;
  const stored = kindOf(definition, storage, options, { remote, stored: undefined });
  return versions
    .filter(({ served }) => served)
    .map((version) => (version === storage ? stored : kindOf(definition, version, options, { remote, stored })));
}

function kindOf(
  { spec, status }: CustomResourceDefinition,
  version: Version,
  { rules }: KindsOptions,
  { stored, remote }: ConversionParts,
): AnyKind {
  const { group, scope } = spec;
  const { plural, singular, kind, listKind, shortNames, categories } = status.acceptedNames;
  const schema = version.schema?.openAPIV3Schema ?? {};
  const scale = version.subresources?.scale;
  const own: AnyKind = structuralKind({
    group,
    version: version.name,
    kind,
    plural,
    ...(singular && { singular }),
    ...(listKind && { listKind }),
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    scope: scope === "Cluster" ? "Cluster" : "Namespaced",
    doc: schema.description ?? "",
    verbs,
    ...deprecation(spec, kind, version),
    ...(version.subresources && { subresources: subresourcesOf(version) }),
    columns: columnsOf(version.additionalPrinterColumns),
    ...selectableFields(version),
    schema: schema as Readonly<Record<string, unknown>>,
    ...(rules && { rules }),
    ...(scale && scaleChecks(scale)),
    ...(stored && { convert: conversionBy(() => own, stored) }),
    ...(spec.versions.length > 1 && { peers: peersOf(() => own, remote) }),
  });
  return own;
}

/** In the order in which upstream's discovery of custom resources names them. */
const verbs: readonly Verb[] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

type Spec = CustomResourceDefinition["spec"];

function deprecation(spec: Spec, kind: string, version: Version): Pick<StructuralKindRules, "deprecated"> {
  if (!version.deprecated) return {};
  return { deprecated: { warning: version.deprecationWarning ?? usualWarning(spec, kind, version.name) } };
}

/** Names the best version that is newer, if there is one that is not deprecated. */
function usualWarning({ group, versions }: Spec, kind: string, name: string): string {
  const [best] = versions
    .filter(({ served, deprecated, name: other }) => served && !deprecated && compareVersions(other, name) < 0)
    .map(({ name: other }) => other)
    .toSorted(compareVersions);
  const use = best === undefined ? "" : `; use ${group}/${best} ${kind}`;
  return `${group}/${name} ${kind} is deprecated${use}`;
}

function subresourcesOf({ subresources }: Version): NonNullable<StructuralKindRules["subresources"]> {
  const { status, scale } = subresources ?? {};
  return { ...(status && { status: true }), ...(scale && { scale: scalePaths(scale) }) };
}

/** Paths in a definition begin with a dot. */
const scalePaths = (scale: CustomResourceSubresourceScale): ScalePaths => ({
  replicas: plain(scale.specReplicasPath),
  current: plain(scale.statusReplicasPath),
  ...(scale.labelSelectorPath && { selector: plain(scale.labelSelectorPath) }),
  isWritten: true,
});

const plain = (path: string): string => path.replace(/^\./, "");

const scaleChecks = (scale: CustomResourceSubresourceScale) => ({
  check: (object: object) => scaleProblems(object, scale),
  checkStatus: (object: object) => scaleStatusProblems(object, scale),
});

function selectableFields({ selectableFields: fields }: Version): Pick<StructuralKindRules, "selectableFields"> {
  const readers = (fields ?? []).map(({ jsonPath }) => {
    const path = new JsonPath(`{${jsonPath}}`, { allowMissing: true });
    const read = (object: unknown): string => {
      const value = firstOf(path, object);
      return value === undefined || value === null ? "" : String(value);
    };
    return [plain(jsonPath), read] as const;
  });
  return { selectableFields: Object.fromEntries(readers) };
}

interface ConversionParts {
  /** What objects of a version are stored as; undefined of the version that is stored. */
  readonly stored: AnyKind | undefined;
  /** What converts them where it takes more than another name. */
  readonly remote: ConvertAll | undefined;
}

const conversionBy = (own: () => AnyKind, stored: AnyKind): Conversion<never> => ({
  to: () => stored,
  toStored: (object) => relabelled(object, stored),
  fromStored: (object) => relabelled(object, own()),
});

/** What a webhook answers is pruned as what a client sends is. */
const peersOf = (own: () => AnyKind, remote: ConvertAll | undefined): PeerVersions => ({
  isRemote: remote !== undefined,
  adopt: (objects) =>
    remote
      ? remote(objects, own()).then((answered) => answered.map((object) => relabelled(object, own())))
      : objects.map((object) => relabelled(object, own())),
});
