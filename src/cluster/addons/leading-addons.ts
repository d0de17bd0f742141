// The add-ons of a cluster, which one control plane at a time looks after: the only one, or the one that holds the lease.
import { systemClock as clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { systemRandom as random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { hostAddressesIn } from "#network/local-network.ts";
import type { Cluster } from "../cluster.ts";
import { electedPart } from "../elected-part.ts";
import * as identities from "../identities.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import type { Settings } from "../local/settings.ts";

export interface LeadingAddonsOptions {
  readonly place: ClusterFolder;
  /** The same on all control planes. */
  readonly settings: Settings;
  /** The name of this process among those that share the store; undefined if it is alone. */
  readonly candidate: string | undefined;
  readonly log: Log;
}

/** Also that of its lease. */
const name = "addon-manager";
/** Nodes that do not become ready are no reason to leave the names of a cluster that is started again to pods that are gone. */
const latestMs = 10_000;

/** Where the process of the machine that the cluster was made on resolves names; nodes of all machines reach it there. */
export function dnsProcessAddress(settings: Pick<Settings, "node-range">): string {
  const [address] = hostAddressesIn(settings["node-range"]);
  if (address === undefined) throw new Error(`node range ${JSON.stringify(settings["node-range"])} has no address`);
  return address;
}

/** Loaded late: whoever waits for the cluster to be ready does not wait for what add-ons need. */
export const leadingAddons = (cluster: Cluster, options: LeadingAddonsOptions): Component => ({
  name: "add-ons",
  async run(signal) {
    const { place, settings, candidate, log } = options;
    await cluster.serving(signal);
    await Promise.race([cluster.ready(signal), clock.sleep(latestMs, signal)]);
    const { clusterAddons } = await import("./cluster-addons.ts");
    const user = identities.userOf(identities.addonManager);
    const make = (mayWrite: () => boolean) =>
      clusterAddons({
        cluster,
        client: cluster.clientFor(user, name, mayWrite),
        log,
        imageCache: place.imageCache,
        nodesFolder: place.nodes,
        hostAddress: dnsProcessAddress(settings),
        nodes: settings.nodes,
        hasEgress: !settings["no-egress"],
        initial: settings.addons.filter((one) => one !== "none"),
      });
    if (candidate === undefined)
      return supervise(
        make(() => true),
        signal,
      );
    const client = cluster.clientFor(user, name);
    const part = electedPart({
      name,
      identity: candidate,
      client,
      clock,
      random,
      log: log.with({ component: name }),
      make,
    });
    await part.run(signal);
  },
});
