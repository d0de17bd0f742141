// Invalidates, and later deletes, tokens in secrets that were made for an account without being asked for and that nobody has used for
// long.
// Upstream: pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { type CacheView, controller } from "#client/controller.ts";
import {
  accountAnnotations,
  invalidSinceLabel,
  lastUsedLabel,
  tokenSecretType,
  tokenTrackingName,
} from "#rules/legacy-tokens.ts";
import { secretNames } from "#rules/pod-secrets.ts";
import { millisOf, timeOf } from "#schema/time.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** A token that was not used for `periodMs` is invalidated, and one that was invalid for as long is deleted. */
export const legacyTokenCleaner = (periodMs = 365 * dayMs) =>
  controller({
    name: "legacy-service-account-token-cleaner",
    for: Secret,
    workers: 1,
    concerns: ({ type }) => type === tokenSecretType,
    reads: [ServiceAccount, Pod],
    resyncMs: dayMs,

    async reconcile(secret, { client, cache, clock, log }) {
      const { metadata } = secret;
      if (metadata.deletionTimestamp !== undefined) return;
      const now = clock.now();
      const keptSince = now - periodMs;
      if (millisOf(metadata.creationTimestamp ?? timeOf(now)) >= keptSince) return;
      const lastUsed = metadata.labels?.[lastUsedLabel];
      if (lastUsed !== undefined && (!isDay(lastUsed) || lastUsed >= dayOf(keptSince))) return;
      if (!isMadeUnasked(secret, cache) || isInPods(secret, cache)) return;
      const tracking = await client.find(ConfigMap, { namespace: "kube-system", name: tokenTrackingName });
      if (!isTrackedSince(tracking?.data?.since, keptSince)) return;

      const invalidSince = metadata.labels?.[invalidSinceLabel];
      if (invalidSince === undefined || !isDay(invalidSince)) {
        log.info("a token in a secret is invalid from now on", { namespace: metadata.namespace, name: metadata.name });
        const labels = { [invalidSinceLabel]: dayOf(now) };
        await client.patch(Secret, metadata, "merge", { metadata: { uid: metadata.uid, labels } });
        return;
      }
      if (invalidSince >= dayOf(keptSince)) return;
      log.info("a token in a secret is deleted", { namespace: metadata.namespace, name: metadata.name });
      try {
        const preconditions = { resourceVersion: metadata.resourceVersion ?? "" };
        await client.delete(Secret, metadata, { preconditions });
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    },
  });

const dayOf = (ms: number): string => timeOf(ms).slice(0, 10);
const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));

/** Of the day on which tracking began, not all uses are known. */
const isTrackedSince = (since: string | undefined, start: number): boolean =>
  since !== undefined && isDay(since) && Date.parse(`${since}T00:00:00Z`) + dayMs <= start;

/** The account names the tokens that were made for it before v1.24; those that people made it does not know. */
function isMadeUnasked({ metadata }: Secret, cache: CacheView): boolean {
  const { [accountAnnotations.name]: name, [accountAnnotations.uid]: uid } = metadata.annotations ?? {};
  if (!name) return false;
  const account = cache.get(ServiceAccount, { namespace: metadata.namespace, name });
  if (!account || (uid && uid !== account.metadata.uid)) return false;
  return (account.secrets ?? []).some((secret) => secret.name === metadata.name);
}

const isInPods = ({ metadata: { namespace, name } }: Secret, cache: CacheView): boolean =>
  cache.list(Pod, namespace).some(({ spec }) => [...secretNames(spec)].includes(name));
