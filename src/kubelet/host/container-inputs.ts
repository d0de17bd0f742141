import { environmentOf } from "../inputs/environment.ts";
import type { InputSources, PodContext } from "../inputs/sources.ts";
import type { ContainerInputs } from "../runtime/cri-config.ts";
import type { ContainerConfig } from "../runtime.ts";
import type { Volumes } from "./volumes/volumes.ts";

export interface InputsOptions extends Omit<PodContext, "podIps"> {
  readonly sources: InputSources;
  readonly volumes: Volumes;
}

/** What a container on this node is given: its variables, and its volumes as folders that are there. */
export const containerInputs =
  ({ sources, volumes, ...node }: InputsOptions) =>
  async ({ pod, container }: ContainerConfig, podIps: readonly string[]): Promise<ContainerInputs> => {
    const context = { ...node, podIps };
    const fileOf = (volume: string, path: string) => volumes.read(pod, volume, path, context);
    const env = await environmentOf(pod, container, sources, { ...context, fileOf });
    const mounts = await volumes.mountsOf(pod, container, context, env);
    return { env, mounts, devices: await volumes.devicesOf(pod, container, context) };
  };
