import type { LimitRange } from "#api/core/v1/limit-range.ts";
import type { Namespace } from "#api/core/v1/namespace.ts";
import type { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { isNotFound } from "#base/errors.ts";
import { timeText, writeTags } from "../common.ts";
import { coreMapping, type Describer, listAll } from "../describer.ts";
import { writeLimitRanges, writeQuotas } from "../quotas.ts";

export const describeNamespace: Describer<Namespace> = async ({ metadata, status }, context, w) => {
  const { name = "" } = metadata;
  const quotas = await ifServed(listAll<ResourceQuota>(context, coreMapping("resourcequotas", "ResourceQuota"), name));
  const ranges = await ifServed(listAll<LimitRange>(context, coreMapping("limitranges", "LimitRange"), name));
  w.line(0, "Name:", name);
  writeTags(w, metadata);
  w.line(0, "Status:", status.phase ?? "");
  const { conditions = [] } = status;
  if (conditions.length > 0) {
    w.line(0, "Conditions:");
    w.line(1, "Type", "Status", "LastTransitionTime", "Reason", "Message");
    w.line(1, "----", "------", "------------------", "------", "-------");
  }
  for (const { type, status, lastTransitionTime, reason = "", message = "" } of conditions)
    w.line(1, type, status, timeText(lastTransitionTime), reason, message);
  if (quotas) {
    w.line(0);
    writeQuotas(w, quotas);
  }
  if (ranges) {
    w.line(0);
    writeLimitRanges(w, ranges);
  }
};

/** Undefined from a server that does not have the resource. */
async function ifServed<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
