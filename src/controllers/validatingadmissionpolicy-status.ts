// Tells the authors of policies what is wrong with the types in their expressions.
// Upstream: pkg/controller/validatingadmissionpolicystatus/controller.go.
import { typeWarnings } from "#api/admissionregistration/type-checks.ts";
import type { ParamKind } from "#api/admissionregistration/v1/params.ts";
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { catalog } from "#api/catalog.ts";

import { type CacheView, controller } from "#client/controller.ts";
import { declareKind } from "#schema/cel/kind-types.ts";
import type { AnyKind } from "#schema/kind.ts";
import { structuralKind } from "#schema/structural/kind.ts";

const name = "validatingadmissionpolicy-status-controller";
/** A policy about more kinds is only checked for the first. */
const mostKinds = 10;

export const validatingAdmissionPolicyStatusController = controller({
  name: "validatingadmissionpolicy-status",
  queue: "validatingadmissionpolicy-status",
  for: ValidatingAdmissionPolicy,
  reads: [CustomResourceDefinition],

  async reconcile(policy, { client, cache }) {
    const { metadata, spec, status } = policy;
    const { generation = 0 } = metadata;
    if (generation <= (status.observedGeneration ?? 0)) return;
    const { apiVersion, kind } = ValidatingAdmissionPolicy;
    const paramKind = spec.paramKind && findKind(cache, (one) => isNamed(one, spec.paramKind));
    const kinds = kindsToCheck(policy, cache).map(async (one) => ({
      apiVersion: one.apiVersion,
      kind: one.kind,
      declared: await declareKind(one),
    }));
    const warnings = typeWarnings(spec, await Promise.all(kinds), paramKind && (await declareKind(paramKind)));
    const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {};
    await client.patch(
      ValidatingAdmissionPolicy,
      { name: metadata.name },
      "apply",
      { apiVersion, kind, metadata: { name: metadata.name }, status: { observedGeneration: generation, typeChecking } },
      { fieldManager: name, force: true, subresource: "status" },
    );
  },
});

const isNamed = ({ apiVersion, kind }: KindNames, named: ParamKind = {}): boolean =>
  apiVersion === named.apiVersion && kind === named.kind;

/** The kinds that a policy names without wildcards, in the order of group, version and kind. */
function kindsToCheck({ spec }: ValidatingAdmissionPolicy, cache: CacheView): readonly AnyKind[] {
  const found = new Set<AnyKind>();
  for (const { apiGroups = [], apiVersions = [], resources = [] } of spec.matchConstraints?.resourceRules ?? []) {
    if ([...apiGroups, ...apiVersions].some((text) => text.includes("*"))) continue;
    const plain = resources.filter((resource) => !/[*/]/.test(resource));
    for (const group of apiGroups.toSorted())
      for (const version of apiVersions.toSorted())
        for (const plural of plain.toSorted()) {
          if (found.size === mostKinds) return inOrder(found);
          const kind = findKind(
            cache,
            (one) => one.group === group && one.version === version && one.plural === plural,
          );
          if (kind) found.add(kind);
        }
  }
  return inOrder(found);
}

const inOrder = (kinds: Iterable<AnyKind>): readonly AnyKind[] =>
  [...kinds].sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
const orderOf = ({ group, version, kind }: AnyKind): string => [group, version, kind].join("\n");

type KindNames = Pick<AnyKind, "group" | "version" | "apiVersion" | "kind" | "plural">;

function findKind(cache: CacheView, isWanted: (kind: KindNames) => boolean): AnyKind | undefined {
  const builtIn = catalog.find(isWanted);
  if (builtIn) return builtIn;
  for (const { spec } of cache.list(CustomResourceDefinition))
    for (const { name: version, served, schema } of spec.versions) {
      const { group, names } = spec;
      const { kind, plural } = names;
      if (!served || !isWanted({ group, version, apiVersion: `${group}/${version}`, kind, plural })) continue;
      const source = (schema?.openAPIV3Schema ?? {}) as Readonly<Record<string, unknown>>;
      return structuralKind({ group, version, kind, plural, scope: "Namespaced", doc: "", schema: source });
    }
  return undefined;
}
