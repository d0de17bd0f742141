// Which nodes of this process have come to the API, and when the cluster is ready with them.
import { Node } from "#api/core/v1/node.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Informers } from "#client/informers.ts";
import { isReady } from "#rules/conditions.ts";
import type { ClusterNodes } from "./cluster.ts";
import { untilCached } from "./until-cached.ts";

export class NodeArrivals {
  readonly #arrivals = new Map<string, PromiseWithResolvers<void>>();

  registered(node: string): void {
    this.#of(node).resolve();
  }

  /** Resolves when a pod could be created and would run; `mustBeReady` is false where nodes only have to be there. */
  async ready(
    informers: Informers,
    nodes: Pick<ClusterNodes, "names" | "isOn">,
    mustBeReady: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const accounts = informers.of(ServiceAccount);
    await untilCached(accounts, () => accounts.cache.get("default/default") !== undefined, signal);
    // What the API has of a node may be from before this process began.
    const expected = nodes.names.filter((name) => nodes.isOn(name));
    await unlessAborted(Promise.all(expected.map((name) => this.#of(name).promise)), signal);
    if (!mustBeReady) return;
    const known = informers.of(Node);
    const missing = new Set(expected);
    const areReady = () => {
      for (const name of missing) {
        const node = known.cache.get(name);
        if (!node || !isReady(node)) return false;
        missing.delete(name); // so that thousands of nodes are not looked at again with each that comes
      }
      return true;
    };
    await untilCached(known, areReady, signal);
  }

  #of(node: string): PromiseWithResolvers<void> {
    const arrival = this.#arrivals.get(node) ?? Promise.withResolvers<void>();
    this.#arrivals.set(node, arrival);
    return arrival;
  }
}
