// How the devices of a pod's containers are, as its status tells.
// Upstream: pkg/kubelet/cm/container_manager_linux.go (UpdateAllocatedResourcesStatus).
import type { Container } from "#api/core/v1/container.ts";
import type { ResourceStatus } from "#api/core/v1/container-status.ts";
import type { Pod, PodStatus } from "#api/core/v1/pod.ts";

/** Who gives devices to containers. */
export interface DeviceHealthSource {
  deviceHealth?(pod: Pod, container: Container): readonly ResourceStatus[];
}

export function withDeviceHealth(pod: Pod, status: PodStatus, sources: readonly DeviceHealthSource[]): PodStatus {
  const healthOf = (container: Container) => sources.flatMap((source) => source.deviceHealth?.(pod, container) ?? []);
  const found = new Map(
    pod.spec.containers
      .map((container) => [container.name, healthOf(container)] as const)
      .filter(([, { length }]) => length),
  );
  if (found.size === 0) return status;
  const containerStatuses = (status.containerStatuses ?? []).map((one) => {
    const allocatedResourcesStatus = found.get(one.name);
    return allocatedResourcesStatus ? { ...one, allocatedResourcesStatus } : one;
  });
  return { ...status, containerStatuses };
}
