// Quotas: what a namespace uses in all stays within its limits, exactly, however many write at once.
//
// The usage is kept in the status of each quota. Writes that arrive while one is being charged wait and are charged together: all
// are added up in memory, and each quota is written once. The write succeeds only if the quota is still the one that was read, so
// two servers cannot both take the last place.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/admission.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { ApiError } from "#base/errors.ts";
import type { Evaluator } from "#rules/quota/evaluator.ts";
import { type QuotaUsage, type QuotaWrite, usageOf } from "#rules/quota/evaluator.ts";
import { evaluatorOf } from "#rules/quota/list.ts";
import type { ApiObject } from "#schema/object.ts";
import { compareQuantity, formatQuantity } from "#schema/quantity.ts";
import { modifiedMeanwhile } from "#wire/status.ts";
import { type AdmissionPlugin, type AdmissionRequest, admissionPlugin, refused } from "../plugin.ts";
import type { AdmissionServer } from "../server.ts";
import { charge, type LimitedResource, UncoveredScopes, type UsageByQuota } from "./charge.ts";

export interface ResourceQuotaConfiguration {
  readonly limitedResources: readonly LimitedResource[];
}

interface Waiter {
  readonly asked: AdmissionRequest<ApiObject, ApiObject | undefined>;
  readonly write: QuotaWrite;
  readonly evaluator: Evaluator;
  resolve(): void;
  reject(error: unknown): void;
}

/** Whoever waits may leave, but the others were charged with them. */
const patient = (): AbortSignal => new AbortController().signal;

/** How often a quota that others have written meanwhile is read again. */
const retries = 3;

export function resourceQuota({ limitedResources }: ResourceQuotaConfiguration): AdmissionPlugin {
  /** Who waits in which namespace. A namespace is here while it is being worked on. */
  const waiting = new Map<string, Waiter[]>();

  const work = async (namespace: string, server: AdmissionServer): Promise<void> => {
    for (let batch = waiting.get(namespace); batch?.length; batch = waiting.get(namespace)) {
      waiting.set(namespace, []);
      try {
        await server.settled(patient()); // so that what the last batch wrote is seen
        await chargeTogether(batch, quotasIn(server, namespace), { server, limited: limitedResources, retries });
      } catch (error) {
        for (const waiter of batch) waiter.reject(error); // who has been answered already does not notice
      }
    }
    waiting.delete(namespace);
  };

  return admissionPlugin({
    name: "ResourceQuota",
    on: { verbs: ["create", "update"], through: ["*"] },
    validate(asked) {
      const { kind, namespace, server, object, old, operation, subresource } = asked;
      if (namespace === "") return undefined;
      const evaluator = evaluatorOf(kind);
      const write: QuotaWrite = { operation, subresource, object, old };
      if (!evaluator || !(evaluator.minds?.(write) ?? (operation === "create" && subresource === ""))) return undefined;
      if (limitedResources.length === 0 && quotasIn(server, namespace).length === 0) return undefined;
      return new Promise<undefined>((resolve, reject) => {
        const waiter: Waiter = { asked, write, evaluator, resolve: () => resolve(undefined), reject };
        const others = waiting.get(namespace);
        if (others) others.push(waiter);
        else {
          waiting.set(namespace, [waiter]);
          void work(namespace, server); // never rejects: who waits is told of every failure
        }
      });
    },
  });
}

const quotasIn = (server: AdmissionServer, namespace: string): readonly ResourceQuota[] =>
  server.list(ResourceQuota, namespace);

interface Charging {
  readonly server: AdmissionServer;
  readonly limited: readonly LimitedResource[];
  readonly retries: number;
}

/** Answers every waiter of the batch, or throws what all must be told that have no answer yet. */
async function chargeTogether(
  batch: readonly Waiter[],
  quotas: readonly ResourceQuota[],
  charging: Charging,
): Promise<void> {
  const { server, limited } = charging;
  const before: UsageByQuota = new Map(quotas.map(({ metadata, status }) => [metadata.name, usageOf(status.used)]));
  let used = before;
  const charged: Waiter[] = [];
  for (const waiter of batch) {
    const { asked, write, evaluator } = waiter;
    try {
      const result = charge(quotas, used, { write, kind: asked.kind, evaluator, limited, now: server.clock.now() });
      if ("refusal" in result) waiter.reject(refused(asked, result.refusal));
      else if (asked.dryRun || result.used === used) waiter.resolve();
      else {
        used = result.used;
        charged.push(waiter);
      }
    } catch (error) {
      waiter.reject(
        error instanceof UncoveredScopes ? new ApiError({ code: 500, reason: "", message: error.message }) : error,
      );
    }
  }
  if (charged.length > 0) await record(charged, quotas, { before, used }, charging);
}

/** Writes the new usage, and charges once more what could not be written. */
async function record(
  charged: readonly Waiter[],
  quotas: readonly ResourceQuota[],
  { before, used }: { readonly before: UsageByQuota; readonly used: UsageByQuota },
  charging: Charging,
): Promise<void> {
  const { server } = charging;
  const signal = patient();
  const stale: string[] = [];
  for (const quota of quotas) {
    const { name } = quota.metadata;
    const usage = used.get(name) ?? new Map();
    if (sameUsage(usage, before.get(name) ?? new Map())) continue;
    const status = {
      ...quota.status,
      used: Object.fromEntries([...usage].map(([key, value]) => [key, formatQuantity(value)])),
    };
    if (!(await server.replace(ResourceQuota, quota, { ...quota, status }, signal))) stale.push(name);
  }
  const [first] = stale;
  if (first === undefined) {
    for (const waiter of charged) waiter.resolve();
    return;
  }
  if (charging.retries === 0) throw modifiedMeanwhile({ group: "", resource: "resourcequotas" }, first);
  await server.settled(signal);
  const [{ asked } = {}] = charged;
  const again = quotasIn(server, asked?.namespace ?? "").filter(({ metadata }) => stale.includes(metadata.name));
  // Whether all is covered has been seen before, with all quotas at hand.
  await chargeTogether(charged, again, { ...charging, limited: [], retries: charging.retries - 1 });
}

const sameUsage = (a: QuotaUsage, b: QuotaUsage): boolean =>
  a.size === b.size &&
  [...a].every(([name, amount]) => {
    const other = b.get(name);
    return other !== undefined && compareQuantity(amount, other) === 0;
  });
