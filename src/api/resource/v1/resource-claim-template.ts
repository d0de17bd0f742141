import { type Infer, ref, resource, struct } from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { ResourceClaimSpec } from "./resource-claim.ts";

export const ResourceClaimTemplateSpec = struct("resource/v1.ResourceClaimTemplateSpec", {
  metadata: ref(1, ObjectMeta).default({}),
  spec: ref(2, ResourceClaimSpec).required(),
});
export interface ResourceClaimTemplateSpec extends Infer<typeof ResourceClaimTemplateSpec> {}

export const ResourceClaimTemplate = resource({
  group: "resource.k8s.io",
  version: "v1",
  kind: "ResourceClaimTemplate",
  plural: "resourceclaimtemplates",
  returnsDeleted: true,
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, ResourceClaimTemplateSpec).required(),
  },
});
export interface ResourceClaimTemplate extends Infer<typeof ResourceClaimTemplate> {}
