// A cluster whose control plane runs elsewhere: its nodes, and what looks after them, as clients over the network.
import { Pod } from "#api/core/v1/pod.ts";
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { retry } from "#base/retry.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import { Informers } from "#client/informers.ts";
import { isReady } from "#rules/conditions.ts";
import type { Cluster, ClusterConfig } from "../cluster.ts";
import * as identities from "../identities.ts";
import { identityBindings } from "../identity-bindings.ts";
import { localStorageObjects } from "../local-storage.ts";
import { NodeArrivals } from "../node-arrivals.ts";
import { untilCached } from "../until-cached.ts";
import type { IdentityClients } from "./identity-clients.ts";
import { keptObjects, makeMissing } from "./kept-objects.ts";
import { nodeControllers } from "./node-controllers.ts";

export interface RemoteClusterOptions
  extends Pick<ClusterConfig, "nodes" | "waitsForReadyNodes" | "loadBalancerAddresses"> {
  readonly clients: IdentityClients;
  /** What the cluster has besides the objects that every API server makes. */
  readonly objects: readonly SystemObject[];
  /** Resolves with the names of the pods in kube-system that the control plane is. */
  readonly controlPlane: Promise<readonly string[]>;
  /** Why the control plane will not come up, if that is known. */
  readonly problem: () => string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

const lookMs = 200;
const master = identities.userOf(identities.masterAdmin);

export function remoteCluster(options: RemoteClusterOptions): Cluster {
  const { clients, clock, random, log, metrics } = options;
  const partOf = (component: string) => ({ clock, random, metrics, log: log.with({ component }) });
  const manager = clients.clientFor(identities.userOf(identities.controllerManager), "knarr");
  /** Shared by all parts, and filled by the one that may list everything. */
  const informers = new Informers({ ...partOf("cluster"), client: manager });
  const arrivals = new NodeArrivals();
  const nodes = options.nodes({
    ...partOf("kubelet"),
    informers,
    registered: (name) => arrivals.registered(name),
    clientFor: (name) => clients.clientFor(identities.userOf(identities.node(name)), "kubelet"),
  });
  const controllers = nodeControllers({ ...options, ...partOf("controllers"), informers, storage: nodes.storage });
  const served = Promise.withResolvers<void>();
  /** Everything but the nodes, which run the API server, waits until it serves. */
  const whenServed: Component = {
    name: "cluster",
    async run(signal) {
      await untilReady(options, signal);
      const objects = [...identityBindings, ...(nodes.storage ? localStorageObjects : []), ...options.objects];
      const client = clients.clientFor(master, "knarr");
      await retry((stop) => makeMissing(client, objects, stop), { firstMs: lookMs, maxMs: 5000, clock }, signal);
      served.resolve();
      const kept = keptObjects(client, options.objects, partOf("cluster"));
      await supervise([informers, kept, ...controllers], signal);
    },
  };
  return {
    name: "cluster",
    nodes,
    informers,
    clientFor: (user, part, mayWrite) => clients.clientFor(user, part, mayWrite),
    run: (signal) => supervise([nodes, whenServed], signal),
    serving: (signal) => unlessAborted(served.promise, signal),
    async ready(signal) {
      await this.serving(signal);
      const names = await unlessAborted(options.controlPlane, signal);
      const pods = informers.of(Pod);
      const isUp = (name: string) => {
        const pod = pods.cache.get({ namespace: "kube-system", name });
        return pod !== undefined && isReady(pod);
      };
      await untilCached(pods, () => names.every(isUp), signal);
      await arrivals.ready(informers, nodes, options.waitsForReadyNodes !== false, signal);
    },
  };
}

async function untilReady({ clients, problem, clock }: RemoteClusterOptions, signal: AbortSignal): Promise<void> {
  const when = () => {
    const why = problem();
    if (why !== undefined) throw new Error(why);
    return true;
  };
  const ask = (stop: AbortSignal) => clients.read(master, "/readyz", stop);
  await retry(ask, { firstMs: lookMs, maxMs: lookMs, clock, when }, signal);
}
