// Where the inputs of containers come from. What may be missing is undefined; what must not be is said by the caller.
import type { ConfigMap } from "#api/core/v1/config-map.ts";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Secret } from "#api/core/v1/secret.ts";
import type { Service } from "#api/core/v1/service.ts";

export interface InputSources {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string): Promise<Secret | undefined>;
  /** The services of a namespace that have an address. */
  services(namespace: string): Promise<readonly Service[]>;
  /** Those of them that are known by now. */
  knownServices(namespace: string): readonly Service[];
  /** A token of the pod's service account, for one audience. */
  token(pod: Pod, audience: string | undefined, expirationSeconds: number): Promise<string>;
  claim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined>;
  persistentVolume(name: string): Promise<PersistentVolume | undefined>;
}

/** What only the node knows of a pod. */
export interface PodContext {
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
  /** What the node has for pods, for limits that are not set. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Reads a file of one of the pod's volumes; without it, no volume can be read. */
  readonly fileOf?: (volume: string, path: string) => Promise<string>;
}

/** Something that a container needs is not there: it shows as CreateContainerConfigError. */
export class InputMissing extends Error {
  override readonly name: string = "InputMissing";
}
