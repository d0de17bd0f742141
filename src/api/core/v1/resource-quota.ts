import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, list, map, type Problem, ref, resource, string, struct } from "#schema/index.ts";
import { checkQuotaAmounts, checkQuotaSpec } from "./checks/resource-quota.ts";
import { quotaUse } from "./columns/resource-quota.ts";
import { roundUpAmounts } from "./defaults.ts";

const scopes = [
  "BestEffort",
  "CrossNamespacePodAffinity",
  "NotBestEffort",
  "NotTerminating",
  "PriorityClass",
  "Terminating",
  "VolumeAttributesClass",
] as const;

export const ScopedResourceSelectorRequirement = struct(
  "core/v1.ScopedResourceSelectorRequirement",
  {
    scopeName: string(1, "What is looked at.")
      .known(...scopes)
      .required(),
    operator: string(2, "How it is compared with the values.")
      .known("DoesNotExist", "Exists", "In", "NotIn")
      .required(),
    values: list(3, "string", "Values to compare with; none for Exists and DoesNotExist."),
  },
  { doc: "A condition on what is counted." },
);
export interface ScopedResourceSelectorRequirement extends Infer<typeof ScopedResourceSelectorRequirement> {}

export const ScopeSelector = struct(
  "core/v1.ScopeSelector",
  {
    matchExpressions: list(1, ScopedResourceSelectorRequirement, "Conditions that must all hold."),
  },
  { doc: "Chooses what is counted.", atomic: true },
);
export interface ScopeSelector extends Infer<typeof ScopeSelector> {}

export const ResourceQuotaSpec = struct(
  "core/v1.ResourceQuotaSpec",
  {
    hard: map(1, "quantity", "The most there may be of each: requests.cpu, limits.memory, pods, count/jobs.batch …"),
    scopes: list(2, "string", "Count only what all of these hold for; cannot change.").known(...scopes),
    scopeSelector: ref(3, ScopeSelector, "Count only what this chooses, such as pods of a priority class."),
  },
  {
    doc: "What a namespace may use.",
    complete(spec): void {
      roundUpAmounts(spec.hard);
    },
    check: (spec, old): Iterable<Problem> => checkQuotaSpec(spec, old),
  },
);
export interface ResourceQuotaSpec extends Infer<typeof ResourceQuotaSpec> {}

export const ResourceQuotaStatus = struct(
  "core/v1.ResourceQuotaStatus",
  {
    hard: map(1, "quantity", "The limits that are in force."),
    used: map(2, "quantity", "What is used of each."),
  },
  {
    doc: "What a namespace uses.",
    complete(status): void {
      roundUpAmounts(status.hard);
      roundUpAmounts(status.used);
    },
    *check({ hard, used }): Iterable<Problem> {
      yield* checkQuotaAmounts("hard", hard);
      yield* checkQuotaAmounts("used", used);
    },
  },
);
export interface ResourceQuotaStatus extends Infer<typeof ResourceQuotaStatus> {}

export const ResourceQuota = resource({
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  shortNames: ["quota"],
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "Limits for all that is in a namespace together.",
  fields: {
    spec: ref(2, ResourceQuotaSpec, "What the namespace may use.").default({}),
    status: ref(3, ResourceQuotaStatus, "What the namespace uses.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    {
      name: "Request",
      doc: "Used and allowed of what is requested or counted.",
      cell: ({ status }): string => quotaUse(status, false),
    },
    {
      name: "Limit",
      doc: "Used and allowed of what is limited.",
      cell: ({ status }): string => quotaUse(status, true),
    },
    ageColumn,
  ],
});
export interface ResourceQuota extends Infer<typeof ResourceQuota> {}
