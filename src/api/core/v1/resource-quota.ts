import { type Infer, list, map, ref, resource, string, struct } from "#schema/index.ts";

export const ScopedResourceSelectorRequirement = struct("core/v1.ScopedResourceSelectorRequirement", {
  scopeName: string(1)
    .oneOf(
      "BestEffort",
      "CrossNamespacePodAffinity",
      "NotBestEffort",
      "NotTerminating",
      "PriorityClass",
      "Terminating",
      "VolumeAttributesClass",
    )
    .required(),
  operator: string(2).oneOf("DoesNotExist", "Exists", "In", "NotIn").required(),
  values: list(3, "string"),
});
export interface ScopedResourceSelectorRequirement extends Infer<typeof ScopedResourceSelectorRequirement> {}

export const ScopeSelector = struct(
  "core/v1.ScopeSelector",
  {
    matchExpressions: list(1, ScopedResourceSelectorRequirement),
  },
  { atomic: true },
);
export interface ScopeSelector extends Infer<typeof ScopeSelector> {}

export const ResourceQuotaSpec = struct("core/v1.ResourceQuotaSpec", {
  hard: map(1, "quantity"),
  scopes: list(2, "string").oneOf(
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
  ),
  scopeSelector: ref(3, ScopeSelector),
});
export interface ResourceQuotaSpec extends Infer<typeof ResourceQuotaSpec> {}

export const ResourceQuotaStatus = struct("core/v1.ResourceQuotaStatus", {
  hard: map(1, "quantity"),
  used: map(2, "quantity"),
});
export interface ResourceQuotaStatus extends Infer<typeof ResourceQuotaStatus> {}

export const ResourceQuota = resource({
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  returnsDeleted: true,
  shortNames: ["quota"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, ResourceQuotaSpec).default({}),
    status: ref(3, ResourceQuotaStatus).default({}),
  },
  subresources: { status: true },
});
export interface ResourceQuota extends Infer<typeof ResourceQuota> {}
