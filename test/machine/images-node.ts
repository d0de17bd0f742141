// A node of a test's own with CRI to speak to its containerd.
import { join } from "node:path";
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { systemRandom } from "#base/random.ts";
import type { NodeContainerd } from "#cluster/machine/containerd.ts";
import { containerInputs } from "#kubelet/host/container-inputs.ts";
import { CriRuntime } from "#kubelet/host/cri/runtime.ts";
import { Volumes } from "#kubelet/host/volumes/volumes.ts";
import type { InputSources } from "#kubelet/inputs/sources.ts";
import { podOf } from "#kubelet/testing.ts";
import { at, TestMachine } from "./machine.ts";

const sources: InputSources = {
  configMap: async () => undefined,
  secret: async () => undefined,
  services: async () => [],
  knownServices: () => [],
  token: async () => "",
  claim: async () => undefined,
  persistentVolume: async () => undefined,
};
const { signal } = new AbortController();

export interface RunningPod {
  readonly pod: Pod;
  readonly ip: string;
  readonly container: string;
}

export class ImagesNode implements AsyncDisposable {
  readonly machine: TestMachine;
  readonly containerd: NodeContainerd;
  readonly runtime: CriRuntime;
  #pods = 0;

  private constructor(machine: TestMachine, runtime: CriRuntime) {
    this.machine = machine;
    this.containerd = at(machine.nodes, 0);
    this.runtime = runtime;
  }

  static async start(): Promise<ImagesNode> {
    const machine = await TestMachine.make("i", 1);
    try {
      const containerd = at(machine.nodes, 0);
      await containerd.start(signal);
      const podsDirectory = join(machine.root, "pods");
      const runtime = await CriRuntime.connect(
        {
          endpoint: `unix://${containerd.socket}`,
          clock: systemClock,
          logsDirectory: join(machine.root, "logs"),
          podsDirectory,
          memoryBytes: 2 ** 30,
          seccompDirectory: join(machine.root, "seccomp"),
          runtimeHandler: async (name) => name,
          inputs: containerInputs({
            sources,
            volumes: new Volumes({ podsDirectory, sources, stamp: () => systemRandom.uuid() }),
            hostIps: [],
            allocatable: { cpu: "1", memory: "1Gi" },
          }),
        },
        signal,
      );
      return new ImagesNode(machine, runtime);
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a pod of one container, whose image is there. */
  async run(container: Partial<Container> & { readonly image: string }): Promise<RunningPod> {
    const base = podOf({ containers: [{ name: "main", ...container }] });
    const pod = { ...base, metadata: { ...base.metadata, name: `web-${this.#pods++}`, uid: systemRandom.uuid() } };
    const [spec] = pod.spec.containers;
    const image = await this.runtime.findImage(container.image, signal);
    if (!spec || !image) throw new Error(`there is no image ${container.image}`);
    const sandbox = await this.runtime.runSandbox({ pod, attempt: 0 }, signal);
    const config = { pod, container: spec, kind: "app", attempt: 0, imageId: image.id } as const;
    const id = await this.runtime.createContainer(sandbox, config, signal);
    await this.runtime.startContainer(id, signal);
    const [ip = ""] = (await this.runtime.observe(pod.metadata.uid, signal)).sandboxes[0]?.ips ?? [];
    return { pod, ip, container: id };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.runtime.close();
    await this.machine[Symbol.asyncDispose]();
  }
}
