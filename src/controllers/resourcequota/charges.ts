import type { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import type { Clock } from "#base/clock.ts";
import { addUsage, increase, type QuotaUsage, usageOf } from "#rules/quota/evaluator.ts";

/** As long as it may take from the charging of a write until its object is in our caches. */
export const settleMs = 1000;

interface Charge {
  readonly at: number;
  readonly usage: QuotaUsage;
}

/** Recent charges of quotas. */
export class RecentCharges {
  readonly #clock: Clock;
  readonly #charges = new Map<string, readonly Charge[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records by how much the usage of a quota has grown. The whole usage of a quota seen for the first time counts as recent. */
  note(key: string, old: ResourceQuota | undefined, quota: ResourceQuota): void {
    const usage = increase(usageOf(quota.status.used), usageOf(old?.status.used));
    if (usage.size > 0) this.#charges.set(key, [...this.#recent(key), { at: this.#clock.elapsed(), usage }]);
  }

  of(key: string): QuotaUsage {
    const recent = this.#recent(key);
    if (recent.length > 0) this.#charges.set(key, recent);
    else this.#charges.delete(key);
    return recent.reduce<QuotaUsage>((sum, { usage }) => addUsage(sum, usage), new Map());
  }

  forget(key: string): void {
    this.#charges.delete(key);
  }

  #recent(key: string): readonly Charge[] {
    const since = this.#clock.elapsed() - settleMs;
    return (this.#charges.get(key) ?? []).filter(({ at }) => at > since);
  }
}
