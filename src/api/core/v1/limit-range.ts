import { defaultColumns } from "#schema/columns.ts";
import { type Infer, list, map, type Problem, ref, resource, string, struct } from "#schema/index.ts";
import { checkLimits } from "./checks/limit-range.ts";
import { roundUpAmounts } from "./defaults.ts";

export const LimitRangeItem = struct(
  "core/v1.LimitRangeItem",
  {
    type: string(1, "What it limits: Pod, Container or PersistentVolumeClaim.").required(),
    max: map(2, "quantity", "The most that may be limited or requested."),
    min: map(3, "quantity", "The least that must be requested."),
    default: map(4, "quantity", "Limits of containers that say none."),
    defaultRequest: map(5, "quantity", "Requests of containers that say none."),
    maxLimitRequestRatio: map(6, "quantity", "How many times its request a limit may be."),
  },
  {
    doc: "Limits for one type of object.",
    complete(item): void {
      for (const amounts of [item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio])
        roundUpAmounts(amounts);
      if (item.type !== "Container") return;
      const limits = { ...item.max, ...item.default };
      const requests = { ...item.min, ...limits, ...item.defaultRequest };
      if (Object.keys(limits).length > 0) item.default = limits;
      if (Object.keys(requests).length > 0) item.defaultRequest = requests;
    },
  },
);
export interface LimitRangeItem extends Infer<typeof LimitRangeItem> {}

export const LimitRangeSpec = struct(
  "core/v1.LimitRangeSpec",
  {
    limits: list(1, LimitRangeItem, "Limits, at most one for each type.").required(),
  },
  { doc: "What is allowed in the namespace.", check: (spec): Iterable<Problem> => checkLimits(spec) },
);
export interface LimitRangeSpec extends Infer<typeof LimitRangeSpec> {}

export const LimitRange = resource({
  group: "",
  version: "v1",
  kind: "LimitRange",
  plural: "limitranges",
  shortNames: ["limits"],
  scope: "Namespaced",
  doc: "Limits for single pods, containers and claims of a namespace, and defaults for those that say nothing.",
  fields: {
    spec: ref(2, LimitRangeSpec, "What is allowed.").default({}),
  },
  columns: defaultColumns,
});
export interface LimitRange extends Infer<typeof LimitRange> {}
