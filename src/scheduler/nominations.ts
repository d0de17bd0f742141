// Pods for which room is being made, and where. Until they have a node, other pods of no higher priority leave them that room.
import type { PodView } from "./pod-view.ts";

export class Nominations {
  readonly #byPod = new Map<string, string>();
  readonly #byNode = new Map<string, Map<string, PodView>>();

  get isEmpty(): boolean {
    return this.#byPod.size === 0;
  }

  nodeOf(uid: string): string | undefined {
    return this.#byPod.get(uid);
  }

  on(node: string): readonly PodView[] {
    return [...(this.#byNode.get(node)?.values() ?? [])];
  }

  set(pod: PodView, node: string): void {
    this.delete(pod.uid);
    this.#byPod.set(pod.uid, node);
    const present = this.#byNode.get(node);
    if (present) present.set(pod.uid, pod);
    else this.#byNode.set(node, new Map([[pod.uid, pod]]));
  }

  delete(uid: string): void {
    const node = this.#byPod.get(uid);
    if (node === undefined) return;
    this.#byPod.delete(uid);
    const present = this.#byNode.get(node);
    present?.delete(uid);
    if (present?.size === 0) this.#byNode.delete(node);
  }

  /** Takes over a change of the pod. A nomination that was decided here and is not written yet counts until the API has a newer one. */
  follow(old: PodView | undefined, now: PodView): void {
    const before = old?.pod.status.nominatedNodeName ?? "";
    const written = now.pod.status.nominatedNodeName ?? "";
    const node = before === written ? this.#byPod.get(now.uid) : written;
    if (node) this.set(now, node);
    else this.delete(now.uid);
  }
}
