// Which autoscaler selects which pods. Two that select the same pod would work against each other, so neither of them acts.
// Upstream: pkg/controller/util/selectors/bimultimap.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { ObjectKey } from "#client/object-key.ts";
import { labelMatcher, type Requirement } from "#schema/selector.ts";

interface Selection {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly matches: ReturnType<typeof labelMatcher>;
}

/** The selectors of all autoscalers that were looked at, by key. */
export class PodSelectors {
  readonly #all = new Map<string, Selection>();

  set(key: string, { namespace, name }: ObjectKey, requirements: readonly Requirement[]): void {
    this.#all.set(key, { namespace, name, matches: labelMatcher(requirements) });
  }

  delete(key: string): void {
    this.#all.delete(key);
  }

  /** Names of the autoscalers that select any of these pods, which are of one namespace. */
  selecting(namespace: string, pods: readonly Pod[]): readonly string[] {
    // Pods of one template have the same labels.
    const labels = [
      ...new Map(pods.map(({ metadata }) => [JSON.stringify(metadata.labels ?? {}), metadata.labels])).values(),
    ];
    return [...this.#all.values()]
      .filter((one) => one.namespace === namespace && labels.some((some) => one.matches(some)))
      .map(({ name }) => name)
      .toSorted();
  }
}
