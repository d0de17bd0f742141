// New objects wait for initializers: those that configurations name are noted in `metadata.initializers.pending`, and only the first of
// them may be taken off. Upstream had this plugin from v1.7 to v1.13 (apiserver/pkg/admission/plugin/initialization).
import { InitializerConfiguration } from "#api/admissionregistration/v1alpha1/initializer-configuration.ts";
import { equal } from "#base/collections.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Initializers } from "#schema/object-meta.ts";
import { invalidObject } from "#wire/status.ts";
import { type AdmissionRefusal, type AdmissionRequest, admissionPlugin } from "./plugin.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";

export const initializers = admissionPlugin({
  name: "Initializers",
  on: { verbs: ["create", "update"] },
  async mutate(request) {
    if (request.kind.group === InitializerConfiguration.group) return undefined; // what configures it never waits for itself
    return request.operation === "create" ? begin(request) : goOn(request);
  },
});

type InitializerRequest = AdmissionRequest<DraftObject, ApiObject | undefined>;

async function begin(request: InitializerRequest): Promise<AdmissionRefusal> {
  const { metadata } = request.object;
  const given = metadata.initializers as Initializers | undefined;
  if (given) {
    const refusal = await refusalToInitialize(request, "create with initializers denied");
    if (refusal !== undefined) return refusal;
    // Empty, it lets those who may leave all of them out.
    if (!given.result && (given.pending ?? []).length === 0) delete metadata.initializers;
    return undefined;
  }
  if (metadata.annotations?.[mirrorAnnotation] !== undefined) return undefined; // it runs already
  const names = namesFor(request.kind, request.requestedVersion, request.server.list(InitializerConfiguration));
  if (names.length > 0) metadata.initializers = { pending: names.map((name) => ({ name })) };
  return undefined;
}

async function goOn(request: InitializerRequest): Promise<AdmissionRefusal> {
  const { object, old, kind } = request;
  const before = old?.metadata.initializers;
  const after = object.metadata.initializers as Initializers | undefined;
  const problem = transitionProblem(before, after);
  if (problem !== undefined)
    throw invalidObject(kind, object.metadata.name ?? "", [
      { type: "Invalid", field: "metadata.initializers", value: after ?? null, detail: problem },
    ]);
  if (!before) return undefined;
  const refusal = await refusalToInitialize(request, "update to uninitialized resource denied");
  if (refusal !== undefined) return refusal;
  if (after && !after.result && (after.pending ?? []).length === 0) delete object.metadata.initializers;
  return undefined;
}

/** What is wrong with a change of who is still to act. */
function transitionProblem(before: Initializers | undefined, after: Initializers | undefined): string | undefined {
  if (!before) return after ? "field is immutable once initialization has completed" : undefined;
  if (before.result && !equal(before.result, after?.result)) return "result is immutable once it is set";
  const [was, is] = [before.pending ?? [], after?.pending ?? []];
  if (equal(is, was) || equal(is, was.slice(1))) return undefined;
  return "pending initializers may only be removed from the front, one at a time";
}

async function refusalToInitialize(request: InitializerRequest, what: string): Promise<string | undefined> {
  const { user, kind, namespace, requestedVersion, server, object } = request;
  const { decision, reason = "" } = await server.authorize({
    type: "resource",
    user,
    verb: "initialize",
    group: kind.group,
    version: requestedVersion,
    resource: kind.plural,
    ...(namespace && { namespace }),
    ...(object.metadata.name && { name: object.metadata.name }),
  });
  return decision === "allow" ? undefined : `${what}: ${reason}`;
}

/** In the order of the configurations' names, and within one of them in its own. */
function namesFor(
  { group, plural }: AnyKind,
  version: string,
  configurations: readonly InitializerConfiguration[],
): readonly string[] {
  const has = (values: readonly string[] = [], value: string) => values.includes("*") || values.includes(value);
  const names = configurations
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap(({ initializers: all = [] }) => all)
    .filter(({ rules = [] }) =>
      rules.some((rule) => has(rule.apiGroups, group) && has(rule.apiVersions, version) && has(rule.resources, plural)),
    )
    .map(({ name }) => name);
  return [...new Set(names)];
}
