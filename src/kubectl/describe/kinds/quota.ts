import type { LimitRange } from "#api/core/v1/limit-range.ts";
import type { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { writeIdentity } from "../common.ts";
import type { Describer } from "../describer.ts";
import { writeLimits, writeQuota } from "../quotas.ts";

export const describeResourceQuota: Describer<ResourceQuota> = async (quota, _context, w) => {
  writeIdentity(w, quota.metadata);
  writeQuota(w, quota, { level: 0, rule: "----", bullet: " * " });
};

export const describeLimitRange: Describer<LimitRange> = async (range, _context, w) => {
  writeIdentity(w, range.metadata);
  writeLimits(w, [range], "");
};
