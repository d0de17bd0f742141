import { environmentOf } from "../inputs/environment.ts";
import type { InputSources, PodContext } from "../inputs/sources.ts";
import type { ContainerInputs } from "../runtime/cri-config.ts";
import type { ContainerConfig } from "../runtime.ts";
import type { DevicePlugins } from "./device-plugins/device-plugins.ts";
import type { PodDevices } from "./devices/pod-devices.ts";
import type { Volumes } from "./volumes/volumes.ts";

export interface InputsOptions extends Omit<PodContext, "podIps"> {
  readonly sources: InputSources;
  readonly volumes: Volumes;
  /** Devices that drivers have prepared; a node without has none. */
  readonly podDevices?: PodDevices;
  /** Devices of plugins; a node without has none. */
  readonly devicePlugins?: DevicePlugins;
}

/** What a container on this node is given: its variables, and its volumes as folders that are there. */
export const containerInputs =
  ({ sources, volumes, podDevices, devicePlugins, ...node }: InputsOptions) =>
  async ({ pod, container }: ContainerConfig, podIps: readonly string[]): Promise<ContainerInputs> => {
    const context = { ...node, podIps };
    const fileOf = (volume: string, path: string) => volumes.read(pod, volume, path, context);
    const env = await environmentOf(pod, container, sources, { ...context, fileOf });
    const mounts = await volumes.mountsOf(pod, container, context, env);
    const devices = await volumes.devicesOf(pod, container, context);
    const cdiDevices = (await podDevices?.cdiDevices(pod, container)) ?? [];
    const given = (await devicePlugins?.allocations(pod, container)) ?? [];
    // What the pod says itself counts before what a plugin says.
    const added = given.flatMap(({ envs }) => Object.entries(envs).map(([name, value]) => ({ name, value })));
    return {
      env: [...added.filter(({ name }) => !env.some((one) => one.name === name)), ...env],
      mounts: [
        ...mounts,
        ...given.flatMap((one) =>
          one.mounts.map(({ readOnly, ...paths }) => ({ ...paths, readonly: readOnly, propagation: 0 })),
        ),
      ],
      devices: [...devices, ...given.flatMap((one) => one.devices)],
      cdiDevices: [...cdiDevices, ...given.flatMap((one) => one.cdiDevices.map(({ name }) => name))],
      annotations: Object.assign({}, ...given.map(({ annotations }) => annotations)),
    };
  };
