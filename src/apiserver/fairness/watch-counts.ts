// How many watches hear of a write, to estimate its work.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/watch_tracker.go.
import type { ResourceAddress } from "#wire/api-request.ts";

/** Watches of pods by node are indexed: an event goes to that of its own node, and to nobody else's. */
const indexedField = /(^|,)spec\.nodeName==?[^,]+/;

export class WatchCounts {
  readonly #counts = new Map<string, number>();

  /** Counts a watch until what is returned is called. `fieldSelector` is as it was sent. */
  begin(address: ResourceAddress, fieldSelector: string): () => void {
    if (address.resource === "pods" && indexedField.test(fieldSelector)) return () => undefined;
    const key = keyOf(address, address.namespace, address.name ?? namedBy(fieldSelector));
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }

  /** How many may be interested in a write there. */
  interestedIn(address: ResourceAddress): number {
    if (this.#counts.size === 0) return 0;
    const { namespace, name } = address;
    let count = this.#at(address, undefined, undefined);
    if (namespace !== undefined) count += this.#at(address, namespace, undefined);
    if (name !== undefined) count += this.#at(address, namespace, name);
    return count;
  }

  #at(address: ResourceAddress, namespace: string | undefined, name: string | undefined): number {
    return this.#counts.get(keyOf(address, namespace, name)) ?? 0;
  }
}

/** The only object that a field selector lets through. */
export const namedBy = (fieldSelector: string): string | undefined =>
  /(?:^|,)metadata\.name==?([^,]+)/.exec(fieldSelector)?.[1];

const keyOf = ({ group, resource }: ResourceAddress, namespace = "", name = ""): string =>
  `${group}/${resource}/${namespace}/${name}`;
