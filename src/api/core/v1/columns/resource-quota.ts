import { amountOf } from "../amounts.ts";
import type { ResourceQuotaStatus } from "../resource-quota.ts";

/** `cpu: 1/4, pods: 3/10`, of limits or of all else. */
export const quotaUse = ({ hard = {}, used }: ResourceQuotaStatus, ofLimits: boolean): string =>
  Object.keys(hard)
    .filter((name) => name.startsWith("limits.") === ofLimits)
    .toSorted()
    .map((name) => `${name}: ${amountOf(used, name) ?? "0"}/${amountOf(hard, name)}`)
    .join(", ");
