// Keeps the add-ons of a cluster as their manifests say: what is labelled Reconcile is applied again and again, what is labelled
// EnsureExists is only made where it is missing. An object whose label a person has changed to EnsureExists is that person's.
// Upstream: cluster/addons/addon-manager/kube-addons.sh.
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import type { Clock } from "#base/clock.ts";
import { explain, isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import type { ApiObject } from "#schema/object.ts";
import { type Addon, addons, addonsConfigMap } from "./list.ts";
import { type ManifestObject, type ManifestValues, readManifest } from "./manifests.ts";

export interface AddonManagerOptions {
  /** May do everything: add-ons bring roles. */
  readonly client: Client;
  readonly informers: Informers;
  /** Resolves when a pod could run. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** Makes an image where it is not there yet; resolves with its name. */
  readonly image: (name: string, signal: AbortSignal) => Promise<string>;
  readonly values: ManifestValues;
  /** Those that a new cluster has. */
  readonly initial: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

export const modeLabel = "addonmanager.kubernetes.io/mode";
const fieldManager = "addon-manager";
/** Whoever started the cluster has pods to run, which are not to share the machine with ours at first. */
const afterReadyMs = 3000;
/** As often as upstream's looks. */
const lookMs = 60_000;
const establishPollMs = 100;
const establishTries = 100;
const failureBackoff = { firstMs: 1000, maxMs: 60_000 };

export class AddonManager implements Component {
  readonly name = "addon-manager";
  readonly #options: AddonManagerOptions;
  /** Add-ons whose objects were removed since this process began. */
  readonly #removed = new Set<string>();
  #wake = Promise.withResolvers<void>();

  constructor(options: AddonManagerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, informers, ready, clock, log, initial } = this.#options;
    await ready(signal);
    await clock.sleep(afterReadyMs, signal);
    const bound = client.bound({ signal });
    const choices = informers.of(ConfigMap, {
      namespace: addonsConfigMap.namespace,
      fieldSelector: `metadata.name=${addonsConfigMap.name}`,
    });
    await choices.synced(signal);
    const stop = choices.onChange(() => this.#wake.resolve());
    try {
      for (let failures = 0; ; ) {
        this.#wake = Promise.withResolvers<void>();
        try {
          const known = choices.cache.list()[0] ?? (await firstChoice(bound, initial));
          for (const addon of addons) await this.#keep(addon, known.data?.[addon.name] === "enabled", bound, signal);
          failures = 0;
        } catch (error) {
          signal.throwIfAborted();
          log.error("an add-on is not as it should be; trying again", { error: explain(error) });
          failures++;
        }
        const waitMs = failures > 0 ? backoffMs(failureBackoff, failures - 1) : lookMs;
        await this.#sleepUntilChanged(clock, waitMs, signal);
      }
    } finally {
      stop();
    }
  }

  async #sleepUntilChanged(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    await Promise.race([this.#wake.promise, clock.sleep(ms, either).catch(() => undefined)]);
    done.abort(new Error("changed"));
    signal.throwIfAborted();
  }

  async #keep(addon: Addon, isEnabled: boolean, client: Client, signal: AbortSignal): Promise<void> {
    if (!isEnabled) return this.#remove(addon, client);
    this.#removed.delete(addon.name);
    for (const file of addon.definitions ?? [])
      for (const wanted of readManifest(file, {})) await keepDefinition(wanted, client, this.#options.clock, signal);
    const images: Record<string, string> = {};
    for (const [value, name] of Object.entries(addon.images)) images[value] = await this.#options.image(name, signal);
    for (const wanted of readManifest(addon.manifest, { ...this.#options.values, ...images }))
      await keepOne(wanted, client);
  }

  /** Once in the life of this process, and after it was enabled. */
  async #remove(addon: Addon, client: Client): Promise<void> {
    if (this.#removed.has(addon.name)) return;
    const images = Object.fromEntries(Object.keys(addon.images).map((value) => [value, "none"]));
    const objects = readManifest(addon.manifest, { ...this.#options.values, ...images });
    for (const { kind, object } of objects.toReversed()) {
      const place = placeOf(object);
      const present = await client.find(kind, place);
      if (present && modeOf(present) !== undefined)
        await client.delete(kind, place, { propagation: "Background" }).catch(unlessGone);
    }
    this.#removed.add(addon.name);
  }
}

const unlessGone = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
  return undefined;
};

async function keepOne({ kind, object }: ManifestObject, client: Client): Promise<void> {
  const place = placeOf(object);
  const present = await client.find(kind, place);
  // One that somebody made without our label is not ours to change, either.
  if (present && (modeOf(object) !== "Reconcile" || modeOf(present) !== "Reconcile")) return;
  await client.patch(kind, place, "apply", object, { fieldManager, force: true });
}

/** Waits until its objects can be made. */
async function keepDefinition(
  wanted: ManifestObject,
  client: Client,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await keepOne(wanted, client);
  const place = placeOf(wanted.object);
  for (let left = establishTries; left > 0; left--) {
    const { status } = await client.get(CustomResourceDefinition, place);
    if (status?.conditions?.some((one) => one.type === "Established" && one.status === "True")) return;
    await clock.sleep(establishPollMs, signal);
  }
  throw new Error(`the definition ${place.name} is not established`);
}

type WithLabels = { readonly metadata: { readonly labels?: Readonly<Record<string, string>> | undefined } };
const modeOf = (object: unknown): string | undefined => (object as WithLabels).metadata.labels?.[modeLabel];

const placeOf = ({
  metadata,
}: {
  readonly metadata: ApiObject["metadata"] | ManifestObject["object"]["metadata"];
}) => ({
  name: metadata.name ?? "",
  ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
});

/** Says which add-ons a new cluster has. */
async function firstChoice(client: Client, initial: readonly string[]): Promise<ConfigMap> {
  const data = Object.fromEntries(addons.map(({ name }) => [name, initial.includes(name) ? "enabled" : "disabled"]));
  const present = await client.find(ConfigMap, addonsConfigMap);
  return present ?? client.create(ConfigMap, { metadata: addonsConfigMap, data });
}
