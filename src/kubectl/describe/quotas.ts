// Quotas and ranges of limits: alone, and those of a namespace together.

import { amountOf } from "#api/core/v1/amounts.ts";
import type { LimitRange } from "#api/core/v1/limit-range.ts";
import type { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { compareText } from "../go/value.ts";
import { sortedEntries } from "./common.ts";
import type { DescriptionWriter } from "./description-writer.ts";

const scopeHelp: ReadonlyMap<string, string> = new Map([
  [
    "Terminating",
    "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively terminated by the system.",
  ],
  [
    "NotTerminating",
    "Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate.",
  ],
  [
    "BestEffort",
    "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.",
  ],
  [
    "NotBestEffort",
    "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed quality of service.",
  ],
]);

/** `rule` is what stands below the headings of amounts, `bullet` what stands before the help of a scope. */
export function writeQuota(
  w: DescriptionWriter,
  { spec, status }: ResourceQuota,
  { level, rule, bullet }: { readonly level: number; readonly rule: string; readonly bullet: string },
): void {
  const scopes = (spec.scopes ?? []).toSorted(compareText);
  if (scopes.length > 0) w.line(level, "Scopes:", scopes.join(", "));
  for (const help of scopes.flatMap((scope) => scopeHelp.get(scope) ?? [])) w.line(level, `${bullet}${help}`);
  w.line(level, "Resource", "Used", "Hard");
  w.line(level, "--------", rule, rule);
  for (const [name, hard] of sortedEntries(status.hard)) w.line(level, name, amountOf(status.used, name) ?? "0", hard);
}

export function writeQuotas(w: DescriptionWriter, quotas: readonly ResourceQuota[]): void {
  if (quotas.length === 0) {
    w.line(0, "No resource quota.");
    return;
  }
  w.line(0, "Resource Quotas");
  for (const quota of quotas.toSorted((a, b) => compareText(a.metadata.name ?? "", b.metadata.name ?? ""))) {
    w.line(1, "Name:", quota.metadata.name);
    writeQuota(w, quota, { level: 1, rule: "---", bullet: "* " });
  }
}

export function writeLimitRanges(w: DescriptionWriter, ranges: readonly LimitRange[]): void {
  if (ranges.length === 0) {
    w.line(0, "No LimitRange resource.");
    return;
  }
  w.line(0, "Resource Limits");
  writeLimits(w, ranges, " ");
}

export function writeLimits(w: DescriptionWriter, ranges: readonly LimitRange[], prefix: string): void {
  const heads = ["Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio"];
  w.line(0, `${prefix}${heads.join("\t")}`);
  w.line(0, `${prefix}${heads.map((head) => "-".repeat(head.length)).join("\t")}`);
  for (const { type, ...limit } of ranges.flatMap(({ spec }) => spec.limits)) {
    const lists = [limit.min, limit.max, limit.defaultRequest, limit.default, limit.maxLimitRequestRatio];
    // Upstream prints them in an order that changes from run to run.
    const names = [...new Set(lists.flatMap((list) => Object.keys(list ?? {})))].sort(compareText);
    for (const name of names) w.line(0, `${prefix}${type}`, name, ...lists.map((list) => amountOf(list, name) ?? "-"));
  }
}
