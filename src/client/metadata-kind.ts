import { type AnyKind, allVerbs, resource, type ScalePaths, type Subresource, type Verb } from "#schema/kind.ts";
import { structuralKind } from "#schema/structural/kind.ts";

/** What discovery says of a resource. */
export interface DiscoveredResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly scope: AnyKind["scope"];
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Their verbs by their names. */
  readonly subresources: Readonly<Record<string, readonly string[]>>;
}

/** Clients need not know which fields the scale reads: they only see that there is a scale. */
const somewhere: ScalePaths = { replicas: "", current: "" };

/**
 * A kind without a declaration, known by discovery. Of its objects only the metadata is requested, as upstream's metadata client
 * does: enough to delete them, to count them and to find out who owns them.
 */
export function metadataKind({ verbs, subresources, ...rules }: DiscoveredResource): AnyKind {
  const others = Object.entries(subresources).map(([name, its]): [string, Subresource | ScalePaths] => [
    name,
    name === "scale" ? somewhere : { verbs: its.filter(isVerb) },
  ]);
  return resource({
    ...rules,
    doc: "A kind that is known by its metadata alone.",
    fields: {},
    metadataOnly: true,
    verbs: verbs.filter(isVerb),
    subresources: Object.fromEntries(others),
  });
}

/** The same kind for those who read whole objects: all that the server sends is kept as it is. */
export function wholeKind(kind: AnyKind): AnyKind {
  if (!kind.metadataOnly) return kind;
  const { group, version, plural, singular, scope, doc } = kind;
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return structuralKind({ group, version, kind: kind.kind, plural, singular, scope, doc, schema });
}

const isVerb = (verb: string): verb is Verb => allVerbs.some((one) => one === verb);
