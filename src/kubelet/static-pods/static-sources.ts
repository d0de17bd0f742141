// Several sources of static pods as one.
// Upstream: pkg/kubelet/config/config.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { StaticPodSource } from "./static-pod.ts";

export class StaticSources implements StaticPodSource, Component {
  readonly name = "static pods";
  changed: () => void = () => undefined;
  readonly #sources: readonly (StaticPodSource & Component)[];

  constructor(sources: readonly (StaticPodSource & Component)[]) {
    this.#sources = sources;
    for (const source of sources) source.changed = () => this.changed();
  }

  /** Of two pods of one name that of the earlier source counts. */
  async read(): Promise<readonly Pod[]> {
    const pods = (await Promise.all(this.#sources.map((source) => source.read()))).flat();
    const byName = new Map(pods.toReversed().map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
    return [...byName.values()].toReversed();
  }

  run(signal: AbortSignal): Promise<void> {
    return supervise(this.#sources, signal);
  }
}
