// The control groups of a node's pods: made before the sandbox, removed when nothing of the pod runs any more. Follows upstream's
// pkg/kubelet/cm/pod_container_manager_linux.go and qos_container_manager_linux.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { millisOf, podLimits, sharesOf } from "../../cgroups/limits.ts";
import { podGroup, podsGroup, qosGroups, uidOfGroup } from "../../cgroups/tree.ts";
import { type HostResource, HostResourceError } from "../../host-resource.ts";
import type { Hierarchy } from "./hierarchy.ts";

export interface PodCgroupsOptions {
  /** The node's own group: `/knarr/CLUSTER/NODE`. */
  readonly root: string;
  readonly hierarchy: Hierarchy;
  /** Of the node, for its pods together. */
  readonly cpuMillis: number;
  /** Processes that a pod may have; defaults to as many as the machine allows. */
  readonly pidsLimit?: number | undefined;
  readonly clock: Clock;
}

export class PodCgroups implements HostResource {
  readonly #options: PodCgroupsOptions;
  /** CPU requests of burstable pods in shares, by uid. */
  readonly #burstable = new Map<string, number>();
  #isMade = false;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  async prepare(pod: Pod): Promise<void> {
    const { root, hierarchy, pidsLimit } = this.#options;
    try {
      await this.#makeClasses();
      if (this.#note(pod)) await this.#weighBurstable();
      await hierarchy.set(podGroup(root, pod), podLimits(pod, pidsLimit));
    } catch (error) {
      throw new HostResourceError(
        "FailedToCreatePodContainer",
        `unable to ensure pod container exists: ${explain(error)}`,
        error,
      );
    }
  }

  /** A pod that ran before this kubelet did counts, too. */
  update(pod: Pod): void {
    this.#note(pod);
  }

  async resize(pod: Pod): Promise<void> {
    const { root, hierarchy, pidsLimit } = this.#options;
    if (this.#burstable.delete(pod.metadata.uid) && this.#note(pod)) await this.#weighBurstable();
    await hierarchy.set(podGroup(root, pod), podLimits(pod, pidsLimit));
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    const { root, hierarchy, clock } = this.#options;
    await hierarchy.remove(podGroup(root, pod), clock, signal);
    if (this.#burstable.delete(pod.metadata.uid)) await this.#weighBurstable();
  }

  async remove(podUid: string, signal: AbortSignal): Promise<void> {
    const { hierarchy, clock } = this.#options;
    this.#burstable.delete(podUid);
    for (const group of this.#classes) await hierarchy.remove(`${group}/pod${podUid}`, clock, signal);
  }

  async pods(): Promise<readonly string[]> {
    const { hierarchy } = this.#options;
    const names = await Promise.all(this.#classes.map((group) => hierarchy.below(group)));
    return names.flat().flatMap((name) => uidOfGroup(name) ?? []);
  }

  get #classes(): readonly string[] {
    return Object.values(qosGroups).map((suffix) => podsGroup(this.#options.root) + suffix);
  }

  async #makeClasses(): Promise<void> {
    if (this.#isMade) return;
    const { root, hierarchy, cpuMillis } = this.#options;
    await hierarchy.set(podsGroup(root), { cpuShares: sharesOf(cpuMillis) });
    await hierarchy.set(podsGroup(root) + qosGroups.BestEffort, { cpuShares: sharesOf(0) });
    await this.#weighBurstable();
    this.#isMade = true;
  }

  /** Whether that changes anything for the class. */
  #note(pod: Pod): boolean {
    const { uid } = pod.metadata;
    if (qosClassOf(pod.spec) !== "Burstable" || this.#burstable.has(uid)) return false;
    this.#burstable.set(uid, millisOf(podAmounts(pod, "requests").get("cpu")));
    return true;
  }

  /** The burstable class gets the sum of the requests of its pods. */
  async #weighBurstable(): Promise<void> {
    const { root, hierarchy } = this.#options;
    const millis = [...this.#burstable.values()].reduce((sum, one) => sum + one, 0);
    await hierarchy.set(podsGroup(root) + qosGroups.Burstable, { cpuShares: sharesOf(millis) });
  }
}
