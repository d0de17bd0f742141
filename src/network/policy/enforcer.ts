// Keeps one node's packet rules as the network policies say. Changed objects wait in a set while the kernel is at work; all that wait by
// then become one transaction.
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { type Metrics, noMetrics } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Informers } from "#client/informers.ts";
import { policyPodOf } from "./policy-pod.ts";
import { PolicyTable, policyTableName } from "./policy-table.ts";

/** Runs a program in the network of the node, and resolves with its output. */
export type RunInNetwork = (
  command: readonly string[],
  options: { readonly input?: string; readonly signal: AbortSignal },
) => Promise<string>;

export interface PolicyEnforcerOptions {
  readonly informers: Informers;
  /** The name of the node. */
  readonly node: string;
  /** Where its kubelet connects to pods from, if that is not the node itself. */
  readonly kubeletAddresses?: readonly string[];
  readonly run: RunInNetwork;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
}

const retryMs = { first: 1_000, most: 30_000 };

export class PolicyEnforcer implements Component {
  readonly name = "network-policy";
  readonly #options: PolicyEnforcerOptions;
  readonly #table: PolicyTable;
  /** What has changed since the kernel was last told, by key. */
  readonly #policies = new Set<string>();
  readonly #pods = new Set<string>();
  readonly #namespaces = new Set<string>();
  #changed = Promise.withResolvers<void>();
  #hasSynced = false;

  constructor(options: PolicyEnforcerOptions) {
    this.#options = options;
    this.#table = new PolicyTable(options.kubeletAddresses);
  }

  /** Whether the node has had rules for all policies that were there when it began. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options;
    const [policies, pods, namespaces] = [informers.of(NetworkPolicy), informers.of(Pod), informers.of(Namespace)];
    const note =
      (keys: Set<string>) =>
      ({ key }: { readonly key: string }) => {
        keys.add(key);
        this.#changed.resolve();
      };
    const stops = [
      policies.onChange(note(this.#policies)),
      pods.onChange(note(this.#pods)),
      namespaces.onChange(note(this.#namespaces)),
    ];
    try {
      await Promise.all([policies, pods, namespaces].map((informer) => informer.synced(signal)));
      await this.#loop(signal);
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics = noMetrics, node } = this.#options;
    let isKernelKnown = false;
    for (let waitMs = retryMs.first; ; ) {
      this.#changed = Promise.withResolvers<void>();
      this.#readChanges();
      const begun = clock.now();
      try {
        const script = isKernelKnown ? this.#table.changes() : this.#table.rewrite();
        if (script !== "") {
          await this.#options.run(["nft", "-f", "-"], { input: script, signal });
          metrics.observe("knarr_network_policy_sync_duration_seconds", { node }, (clock.now() - begun) / 1000);
          const { sets, chains, elements } = this.#table.size;
          metrics.set("knarr_network_policy_rules", { node, kind: "set" }, sets);
          metrics.set("knarr_network_policy_rules", { node, kind: "chain" }, chains);
          metrics.set("knarr_network_policy_rules", { node, kind: "element" }, elements);
        }
        isKernelKnown = this.#hasSynced = true;
        waitMs = retryMs.first;
        await unlessAborted(this.#changed.promise, signal);
      } catch (error) {
        signal.throwIfAborted();
        isKernelKnown = false;
        metrics.count("knarr_network_policy_sync_failures_total", { node });
        log.error("rules for network policies could not be changed; trying again", { error: explain(error) });
        await clock.sleep(waitMs, signal);
        waitMs = Math.min(waitMs * 2, retryMs.most);
      }
    }
  }

  /** Takes over the present state of all that has changed. */
  #readChanges(): void {
    const { informers, node } = this.#options;
    for (const key of this.#namespaces) {
      const namespace = informers.of(Namespace).cache.get(key);
      this.#table.setNamespace(key, namespace && (namespace.metadata.labels ?? {}));
    }
    for (const key of this.#pods) {
      const pod = informers.of(Pod).cache.get(key);
      this.#table.setPod(key, pod && policyPodOf(pod, node));
    }
    for (const key of this.#policies) this.#table.setPolicy(key, informers.of(NetworkPolicy).cache.get(key));
    for (const keys of [this.#namespaces, this.#pods, this.#policies]) keys.clear();
  }
}

/** Removes all rules of network policies from a node, those of an earlier process, too. */
export const removePolicyRules = async (run: RunInNetwork, signal: AbortSignal): Promise<void> => {
  await run(["nft", "-f", "-"], { input: `table ${policyTableName}\ndelete table ${policyTableName}\n`, signal });
};
