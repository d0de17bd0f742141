// Inputs of simulated containers. They are not used, but checked: a ConfigMap, a Secret or a key that is missing keeps a pod from
// starting as it does on a real node, with the same words, and its coming lets the pod start.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import type { Client } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import type { HostResource } from "../host-resource.ts";
import { environmentOf } from "../inputs/environment.ts";
import { filesOf } from "../inputs/files.ts";
import { isMadeOfObjects } from "../inputs/references.ts";
import type { InputSources, PodContext } from "../inputs/sources.ts";
import { failedMount, VolumeFailed } from "../volume-lifecycle.ts";

export interface SimulatedInputsOptions {
  /** Objects are taken from their caches; what is not there is fetched. */
  readonly informers: Informers;
  readonly clientOf: (node: string) => Client;
  /** What nodes have, for limits that are not set. */
  readonly allocatable: PodContext["allocatable"];
  /** Called with each pod that may have what it lacked. */
  readonly changed: (podUid: string) => void;
}

export class SimulatedInputs implements HostResource {
  readonly #options: SimulatedInputsOptions;
  readonly #podContext: PodContext;
  /** Pods that wait for something, by namespace. */
  readonly #waiting = new Map<string, Set<string>>();
  /** Kinds whose changes are heard of. */
  readonly #followed = new Set<typeof ConfigMap | typeof Secret>();

  constructor(options: SimulatedInputsOptions) {
    this.#options = options;
    this.#podContext = { podIps: [], hostIps: [], allocatable: options.allocatable };
  }

  /** The files of volumes. */
  async prepare(pod: Pod): Promise<void> {
    const { namespace = "", uid } = pod.metadata;
    for (const volume of pod.spec.volumes ?? [])
      if (isMadeOfObjects(volume))
        try {
          await filesOf(pod, volume, this.#sources(pod), this.#podContext);
        } catch (error) {
          const waiting = this.#waiting.get(namespace) ?? new Set();
          this.#waiting.set(namespace, waiting.add(uid));
          throw failedMount(new VolumeFailed(volume.name, error));
        }
    this.#forget(namespace, uid);
  }

  /** The variables of a container. Rejects with InputMissing. */
  async check(pod: Pod, container: Container): Promise<void> {
    const env = container.env?.filter(({ valueFrom }) => valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef) ?? [];
    if (env.length === 0 && !container.envFrom?.length) return;
    await environmentOf(pod, { ...container, env }, this.#sources(pod), this.#podContext);
  }

  async remove(podUid: string): Promise<void> {
    for (const namespace of this.#waiting.keys()) this.#forget(namespace, podUid);
  }

  async pods(): Promise<readonly string[]> {
    return []; // nothing outlives the process
  }

  #sources({ spec }: Pod): InputSources {
    const find = async <K extends typeof ConfigMap | typeof Secret>(kind: K, namespace: string, name: string) => {
      const { cache } = this.#follow(kind);
      return (
        cache.get({ namespace, name }) ?? this.#options.clientOf(spec.nodeName ?? "").find(kind, { namespace, name })
      );
    };
    return {
      configMap: (namespace, name) => find(ConfigMap, namespace, name),
      secret: (namespace, name) => find(Secret, namespace, name),
      services: async () => [],
      knownServices: () => [],
      token: async () => "",
      claim: async () => undefined,
      persistentVolume: async () => undefined,
    };
  }

  /** From the first pod on that needs one of its kind. */
  #follow<K extends typeof ConfigMap | typeof Secret>(kind: K) {
    const informer = this.#options.informers.of(kind);
    if (!this.#followed.has(kind)) {
      this.#followed.add(kind);
      informer.onChange(({ object }) => {
        for (const uid of this.#waiting.get(object?.metadata.namespace ?? "") ?? []) this.#options.changed(uid);
      });
    }
    return informer;
  }

  #forget(namespace: string, uid: string): void {
    const waiting = this.#waiting.get(namespace);
    if (waiting?.delete(uid) && waiting.size === 0) this.#waiting.delete(namespace);
  }
}
