import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, type Problem, ref, resource, struct } from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { checkClaimTemplate } from "../../core/v1/checks/volumes.ts";
import { unchangedStruct } from "../../rules.ts";
import { ResourceClaimSpec } from "./resource-claim.ts";

export const ResourceClaimTemplateSpec = struct(
  "resource/v1.ResourceClaimTemplateSpec",
  {
    metadata: ref(1, ObjectMeta, "Labels and annotations of the claims.").default({}),
    spec: ref(2, ResourceClaimSpec, "What the claims ask for.").required(),
  },
  { check: (template): Iterable<Problem> => checkClaimTemplate(template) },
);
export interface ResourceClaimTemplateSpec extends Infer<typeof ResourceClaimTemplateSpec> {}

export const ResourceClaimTemplate = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "ResourceClaimTemplate",
  plural: "resourceclaimtemplates",
  returnsDeleted: true,
  scope: "Namespaced",
  doc: "Makes a claim of its own for every pod that refers to it.",
  fields: {
    spec: ref(2, ResourceClaimTemplateSpec, "The claims to make; cannot change.").required(),
  },
  columns: [nameColumn, ageColumn],
  *check({ spec }, old): Iterable<Problem> {
    if (old) yield* unchangedStruct("spec", ResourceClaimTemplateSpec, spec, old.spec);
  },
});
export interface ResourceClaimTemplate extends Infer<typeof ResourceClaimTemplate> {}
