// The devices of pods on this node: their drivers prepare them before a pod starts, and take them back when nothing of it runs any more.
// Upstream: pkg/kubelet/cm/dra/manager.go.
import type { Container } from "#api/core/v1/container.ts";
import type { ResourceHealth, ResourceStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { explain } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import { isMadeFor, isReservedFor, podClaimNames, resultsOf } from "#rules/devices/resource-claims.ts";
import { type HostResource, HostResourceError } from "../../host-resource.ts";
import { Turns } from "../../turns.ts";
import type { DeviceDrivers } from "./device-drivers.ts";
import { deviceRpcs } from "./messages.ts";
import type { PreparedClaim, PreparedClaims, PreparedDeviceRecord } from "./prepared-claims.ts";

export interface PodDevicesOptions {
  readonly client: Client;
  readonly drivers: DeviceDrivers;
  readonly prepared: PreparedClaims;
}

export class PodDevices implements HostResource {
  readonly #options: PodDevicesOptions;
  /** Pods that share a claim come one after the other; and the file has one writer. */
  readonly #turns = new Turns();

  constructor(options: PodDevicesOptions) {
    this.#options = options;
  }

  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const extended = pod.status.extendedResourceClaimStatus?.resourceClaimName;
    if (!pod.spec.resourceClaims?.length && extended === undefined) return;
    try {
      await this.#turns.take("claims", async () => {
        for (const { claim: name, isMade } of podClaimNames(pod))
          if (name !== undefined) await this.#prepareOne(pod, await this.#claimOf(pod, name, isMade), signal);
        if (extended !== undefined) await this.#prepareOne(pod, await this.#claimOf(pod, extended, false), signal);
      });
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to prepare dynamic resources: ${explain(error)}`;
      throw new HostResourceError("FailedPrepareDynamicResources", message, error);
    }
  }

  async release({ metadata: { uid = "" } }: Pod, signal: AbortSignal): Promise<void> {
    await this.remove(uid, signal);
  }

  async remove(podUid: string, signal: AbortSignal): Promise<void> {
    await this.#turns.take("claims", async () => {
      for (const claim of await this.#options.prepared.list())
        if (claim.pods.includes(podUid)) await this.#leave(claim, podUid, signal);
    });
  }

  async pods(): Promise<readonly string[]> {
    return [...new Set((await this.#options.prepared.list()).flatMap(({ pods }) => pods))];
  }

  /** The names under which the runtime finds the devices of a container. */
  async cdiDevices(pod: Pod, container: Container): Promise<readonly string[]> {
    const ids = new Set<string>();
    for (const { claimName, request } of claimsOfContainer(pod, container)) {
      const claim = (await this.#options.prepared.list()).find((one) => one.name === claimName && isOf(one, pod));
      for (const device of claim?.devices ?? [])
        if (isFor(device, request)) for (const id of device.cdiIds) ids.add(id);
    }
    return [...ids];
  }

  /** Of the claims that the container names; upstream tells nothing of those that stand for extended resources. */
  deviceHealth(pod: Pod, { resources }: Container): readonly ResourceStatus[] {
    const { drivers, prepared } = this.#options;
    const names = podClaimNames(pod);
    return (resources?.claims ?? []).flatMap(({ name, request }) => {
      const claimName = names.find(({ entry }) => entry === name)?.claim;
      const claim = prepared.known.find((one) => one.name === claimName && isOf(one, pod));
      const devices = (claim?.devices ?? []).filter((one) => isFor(one, request));
      const found = new Map<string, ResourceHealth>();
      for (const { driver, pool = "", device = "", cdiIds } of devices) {
        const resourceID = cdiIds[0] ?? `${driver}/${pool}/${device}`;
        const { health, message } = drivers.health.of(driver, pool, device);
        if (!found.has(resourceID)) found.set(resourceID, { resourceID, health, message: message || undefined });
      }
      if (found.size === 0) return [];
      return [{ name: request ? `claim:${name}/${request}` : `claim:${name}`, resources: [...found.values()] }];
    });
  }

  onHealthChange(listener: (podUid: string) => void): void {
    this.#options.drivers.onHealth((driver, changed) => {
      const isChanged = (one: PreparedDeviceRecord) =>
        one.driver === driver && changed.some(({ pool, device }) => pool === one.pool && device === one.device);
      const claims = this.#options.prepared.known.filter(({ devices }) => devices?.some(isChanged));
      for (const uid of new Set(claims.flatMap(({ pods }) => pods))) listener(uid);
    });
  }

  async #claimOf(pod: Pod, name: string, isMade: boolean): Promise<ResourceClaim> {
    const { namespace } = pod.metadata;
    if (isMade && name === "missing")
      throw new Error(`pod "${namespace}/${pod.metadata.name}": ResourceClaim not created yet`);
    const claim = await this.#options.client.get(ResourceClaim, { namespace, name });
    if (isMade && !isMadeFor(claim, pod))
      throw new Error(
        `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${pod.metadata.name} (Pod is not owner)`,
      );
    if (!claim.status.allocation) throw new Error(`ResourceClaim ${name} is not allocated`);
    if (!isReservedFor(claim, pod))
      throw new Error(
        `pod ${pod.metadata.name} (${pod.metadata.uid}) is not allowed to use ResourceClaim ${name} (${claim.metadata.uid})`,
      );
    return claim;
  }

  /** Who is asked is on the disk before they are, so that they are asked to take it back whatever happens. */
  async #prepareOne(pod: Pod, claim: ResourceClaim, signal: AbortSignal): Promise<void> {
    const { prepared } = this.#options;
    const { uid = "", namespace = "", name = "" } = claim.metadata;
    const known = await prepared.get(uid);
    const pods = [...new Set([...(known?.pods ?? []), pod.metadata.uid ?? ""])];
    const drivers = [...new Set(resultsOf(claim).map(({ driver }) => driver))];
    if (known?.devices && known.pods.length === pods.length) return;
    const entry: PreparedClaim = { uid, namespace, name, drivers, pods, devices: known?.devices };
    await prepared.set(entry);
    if (known?.devices) return; // another pod has had it prepared
    const devices: PreparedDeviceRecord[] = [];
    for (const driver of drivers) devices.push(...(await this.#ask(driver, entry, signal)));
    await prepared.set({ ...entry, devices });
  }

  async #ask(driver: string, { uid, namespace, name }: PreparedClaim, signal: AbortSignal) {
    const answer = await this.#options.drivers.call(
      driver,
      deviceRpcs.prepare,
      { claims: [{ namespace, uid, name }] },
      signal,
    );
    const result = answer.claims.find((one) => one.uid === uid)?.value;
    if (!result) throw new Error(`NodePrepareResources returned no result for claim ${namespace}/${name}`);
    if (result.error) throw new Error(`NodePrepareResources failed for ResourceClaim ${name}: ${result.error}`);
    return result.devices.map(({ requestNames, cdiDeviceIds, poolName, deviceName }) => ({
      driver,
      requests: requestNames,
      cdiIds: cdiDeviceIds,
      pool: poolName,
      device: deviceName,
    }));
  }

  /** The last pod has the drivers take the devices back. Until they have, the claim stays in the file. */
  async #leave(claim: PreparedClaim, podUid: string, signal: AbortSignal): Promise<void> {
    const { prepared, drivers } = this.#options;
    const { uid, namespace, name } = claim;
    const pods = claim.pods.filter((one) => one !== podUid);
    if (pods.length > 0) return prepared.set({ ...claim, pods });
    for (const driver of claim.drivers) {
      const answer = await drivers.call(driver, deviceRpcs.unprepare, { claims: [{ namespace, uid, name }] }, signal);
      const error = answer.claims.find((one) => one.uid === uid)?.value?.error;
      if (error) throw new Error(`NodeUnprepareResources failed for ResourceClaim ${name}: ${error}`);
    }
    await prepared.delete(uid);
  }
}

const isOf = ({ namespace, pods }: PreparedClaim, { metadata }: Pod): boolean =>
  namespace === metadata.namespace && pods.includes(metadata.uid ?? "");

/** Whether the device is one of a request, which may have alternatives; or of any if none is named. */
const isFor = ({ requests }: PreparedDeviceRecord, request: string | undefined): boolean =>
  !request || requests.length === 0 || requests.some((one) => one === request || one.split("/")[0] === request);

interface ContainerClaim {
  readonly claimName: string | undefined;
  /** All requests of the claim if it names none. */
  readonly request: string | undefined;
}

/** What a container uses of claims: what it names, and what stands for its extended resources. */
export function claimsOfContainer(pod: Pod, { name: container, resources }: Container): readonly ContainerClaim[] {
  const names = podClaimNames(pod);
  const named = (resources?.claims ?? []).map(({ name, request }) => ({
    claimName: names.find(({ entry }) => entry === name)?.claim,
    request,
  }));
  const { resourceClaimName: claimName, requestMappings = [] } = pod.status.extendedResourceClaimStatus ?? {};
  const mapped = requestMappings.filter((one) => one.containerName === container);
  return [...named, ...mapped.map(({ requestName: request }) => ({ claimName, request }))];
}
