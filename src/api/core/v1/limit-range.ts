import { type Infer, list, map, ref, resource, string, struct } from "#schema/index.ts";

export const LimitRangeItem = struct("core/v1.LimitRangeItem", {
  type: string(1).required(),
  max: map(2, "quantity"),
  min: map(3, "quantity"),
  default: map(4, "quantity"),
  defaultRequest: map(5, "quantity"),
  maxLimitRequestRatio: map(6, "quantity"),
});
export interface LimitRangeItem extends Infer<typeof LimitRangeItem> {}

export const LimitRangeSpec = struct("core/v1.LimitRangeSpec", {
  limits: list(1, LimitRangeItem).required(),
});
export interface LimitRangeSpec extends Infer<typeof LimitRangeSpec> {}

export const LimitRange = resource({
  group: "",
  version: "v1",
  kind: "LimitRange",
  plural: "limitranges",
  shortNames: ["limits"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, LimitRangeSpec).default({}),
  },
});
export interface LimitRange extends Infer<typeof LimitRange> {}
