// A node of this machine in a test: a containerd of the test's own, and kubelets that come and go on it.

import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { OwnAuthorizers } from "#apiserver/authorization/own-authorizers.ts";
import { type TestOptions, type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { type Log, silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Hierarchy } from "#kubelet/host/cgroups/hierarchy.ts";
import { CriConnection } from "#kubelet/host/cri/connection.ts";
import { rpcs } from "#kubelet/host/cri/messages.ts";
import { type MachineKubeletOptions, machineKubelet } from "#kubelet/host/machine-kubelet.ts";
import type { Kubelet } from "#kubelet/kubelet.ts";
import type { Draft } from "#schema/infer.ts";
import { image, TestContainerd } from "./containerd.ts";

export const namespace = "default";

/** Whose clock moves with the machine's: containers do not wait for a test's. */
export class MachineNode implements AsyncDisposable {
  readonly containerd: TestContainerd;
  readonly client: Client;
  /** Nobody else's. */
  readonly cgroupRoot = `/knarr/test-${process.pid}/n1`;
  readonly server: TestServer;
  readonly #signal = new AbortController();
  readonly #ticking: Promise<void>;
  #running: { readonly kubelet: Kubelet; readonly stop: AbortController; readonly done: Promise<void> } | undefined;

  private constructor(containerd: TestContainerd, server: TestServer) {
    this.containerd = containerd;
    this.server = server;
    const { signal } = this.#signal;
    this.client = new Client({ transport: server.server.request, user: testUser, userAgent: "test/1", signal });
    this.#ticking = this.#tick(signal);
  }

  static async start({ diskBytes, ...more }: TestOptions & { diskBytes?: number } = {}): Promise<MachineNode> {
    const options = { authorizers: ({ node, rbac }: OwnAuthorizers) => [node, rbac], bootstrapPolicy: true, ...more };
    const server = await testServer(options);
    try {
      return new MachineNode(await TestContainerd.start(diskBytes), server);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Servers of tests stand still in time unless they are moved. */
  async #tick(signal: AbortSignal): Promise<void> {
    const { clock } = this.server;
    clock.jumpTo(systemClock.now());
    for (let last = systemClock.elapsed(); !signal.aborted; ) {
      await systemClock.sleep(100, signal).catch(() => undefined);
      const now = systemClock.elapsed();
      await clock.advance(now - last);
      last = now;
    }
  }

  async startKubelet(more: Partial<MachineKubeletOptions> = {}, log: Log = silentLog): Promise<Kubelet> {
    const { folder } = this.containerd;
    const stop = new AbortController();
    const user = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
    const { request } = this.server.server;
    const kubelet = await machineKubelet(
      {
        name: "n1",
        addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
        port: 10250,
        folder: `${folder}/kubelet`,
        memoryFolder: `${folder}/memory`,
        endpoint: this.containerd.endpoint,
        kubeletVersion: "v1.36.4",
        cgroupRoot: this.cgroupRoot,
        client: new Client({ transport: request, user, userAgent: "kubelet/1", signal: stop.signal }),
        clock: systemClock,
        random: seededRandom(process.pid),
        log,
        ...more,
      },
      stop.signal,
    );
    this.#running = { kubelet, stop, done: kubelet.run(stop.signal) };
    return kubelet;
  }

  /** As if its process were killed: nothing is stopped, nothing is told. */
  async dropKubelet(): Promise<void> {
    this.#running?.stop.abort(new Error("the kubelet is dropped"));
    await this.#running?.done;
    this.#running = undefined;
  }

  create(name: string, spec: Draft<PodSpec>): Promise<Pod> {
    return this.client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace },
      spec: { nodeName: "n1", terminationGracePeriodSeconds: 1, ...spec },
    });
  }

  pod(name: string): Promise<Pod | undefined> {
    return this.client.find(Pod, { namespace, name });
  }

  node(): Promise<Node | undefined> {
    return this.client.find(Node, { name: "n1" });
  }

  async until<T>(look: () => Promise<T | undefined | false>, what = "it", limitMs = 300_000): Promise<T> {
    for (const end = systemClock.elapsed() + limitMs; ; ) {
      const found = await look();
      if (found) return found;
      if (systemClock.elapsed() > end) throw new Error(`${what} did not come within ${limitMs} ms`);
      await systemClock.sleep(50, this.#signal.signal);
    }
  }

  async untilPod(name: string, isDone: (pod: Pod) => unknown): Promise<Pod> {
    let last: Pod | undefined;
    try {
      return await this.until(async () => {
        last = await this.pod(name);
        return last && isDone(last) ? last : undefined;
      }, `what is expected of pod ${name}`);
    } catch (cause) {
      const said = (await this.client.list(Event, { namespace })).items.map(({ message }) => message);
      throw new Error(`pod ${name} stays as it is: ${JSON.stringify([last?.status, said])}`, { cause });
    }
  }

  async remove(name: string): Promise<void> {
    await this.client.delete(Pod, { namespace, name });
    await this.until(async () => (await this.pod(name)) === undefined, `the end of pod ${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.dropKubelet();
    } finally {
      this.#signal.abort(new Error("the test is over"));
      await this.#ticking;
      await this.server[Symbol.asyncDispose]();
      try {
        await removeSandboxes(this.containerd);
      } finally {
        await this.containerd[Symbol.asyncDispose]();
      }
      await new Hierarchy().remove(this.cgroupRoot.slice(0, -3), systemClock, new AbortController().signal);
    }
  }
}

/** Network namespaces of pods outlive a containerd that is killed. */
export async function removeSandboxes({ endpoint }: TestContainerd): Promise<void> {
  const { signal } = new AbortController();
  const connection = new CriConnection(endpoint, systemClock);
  const limits = { timeoutMs: 20_000, signal };
  try {
    const { items } = await connection.call(rpcs.listSandboxes, {}, limits);
    for (const { id } of items) {
      await onceFree(() => connection.call(rpcs.stopSandbox, { id }, limits));
      await onceFree(() => connection.call(rpcs.removeSandbox, { id }, limits));
    }
  } finally {
    connection.close();
  }
}

/** What the kubelet asked containerd to remove may still be under way when the kubelet has ended, or be gone by now. */
async function onceFree(remove: () => Promise<unknown>): Promise<void> {
  for (let left = 100; ; left--)
    try {
      await remove();
      return;
    } catch (error) {
      if (/sandbox.*: not found/.test(String(error))) return;
      if (left === 0 || !/removing state/.test(String(error))) throw error;
      await systemClock.sleep(100, new AbortController().signal);
    }
}

export const shell = (script: string, rest: object = {}): Draft<PodSpec> => ({
  containers: [{ name: "web", image, command: ["/bin/sh", "-c", script], ...rest }],
});

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True") === true;

/** On which waits are shorter than they say; what time it is stays true. */
export const fastClock = (factor: number): Clock => ({
  now: () => systemClock.now(),
  elapsed: () => systemClock.elapsed() * factor,
  after: (ms, run) => systemClock.after(ms / factor, run),
  sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
});
