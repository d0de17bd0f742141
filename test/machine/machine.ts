// Nodes of a test's own on this machine, with names and ranges that nobody else has, and without any way out.
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { NodeContainerd } from "#cluster/machine/containerd.ts";
import { networkNamespace } from "#cluster/machine/network-namespace.ts";
import { changesOf, readTraces, type Traces } from "#cluster/machine/traces.ts";
import { CriConnection } from "#kubelet/host/cri/connection.ts";
import { type CriRpc, rpcs } from "#kubelet/host/cri/messages.ts";
import { partOf } from "#kubelet/simulated/addresses.ts";
import { makeNetwork, removeNetwork } from "#network/host/local-network.ts";
import { type LocalNetwork, type LocalNode, planNetwork } from "#network/local-network.ts";
import { claimRanges } from "./claim.ts";

const needed = [
  "/usr/sbin/ip",
  "/usr/sbin/nft",
  "/usr/bin/containerd",
  "/usr/bin/ctr",
  "/usr/sbin/runc",
  "/usr/lib/cni/ptp",
];

/** Why the tests cannot run here, or false. */
export const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make network namespaces"
    : needed.some((path) => !existsSync(path))
      ? "iproute2, nftables, containerd, runc or the CNI plugins are not installed"
      : false;

/** A network of nodes `n0`, `n1`, … with ranges of its own, as several tests may run at once. */
export function testNetwork(label: string, nodes: number, egress = false): LocalNetwork {
  const ranges = claimRanges(label);
  return planNetwork({
    cluster: `t${process.pid}${label}`,
    ...ranges,
    nodes: Array.from({ length: nodes }, (_, i) => ({ name: `n${i}`, podRange: partOf(ranges.podRange, 24, i) })),
    egress,
  });
}

/** Nodes with a containerd each; gone when it goes out of scope. */
export class TestMachine implements AsyncDisposable {
  readonly network: LocalNetwork;
  readonly root: string;
  readonly nodes: readonly NodeContainerd[];
  readonly #before: Traces;
  #pods = 0;

  private constructor(network: LocalNetwork, root: string, before: Traces) {
    this.network = network;
    this.root = root;
    this.nodes = network.nodes.map((node) => new NodeContainerd(this.#optionsOf(node)));
    this.#before = before;
  }

  static async make(label: string, nodes: number): Promise<TestMachine> {
    const network = testNetwork(label, nodes);
    // A short path, for sockets, that tells whose it is.
    const root = await mkdtemp(`/tmp/${network.options.cluster}-`);
    const machine = new TestMachine(network, root, await tracesOf(network, root));
    await makeNetwork(network);
    return machine;
  }

  #optionsOf(node: LocalNode) {
    return {
      folder: join(this.root, node.name),
      runFolder: join(this.root, `${node.name}r`),
      location: networkNamespace(node.netns),
      address: node.address,
      podRanges: node.podRanges,
      cgroup: `/knarr/${this.network.options.cluster}/${node.name}`,
      pluginFolder: "/usr/lib/cni",
      clock: systemClock,
    };
  }

  /** Another one for the same node, as another process would have. */
  again(i: number): NodeContainerd {
    return new NodeContainerd(this.#optionsOf(at(this.network.nodes, i)));
  }

  /** A pod that holds its namespaces, and does nothing else. */
  async runPod(i: number): Promise<TestPod> {
    const { socket } = at(this.nodes, i);
    const uid = `pod${this.#pods++}`;
    const node = at(this.network.nodes, i);
    const { id } = await withCri(socket, (call) =>
      call(rpcs.runSandbox, {
        config: {
          metadata: { name: uid, uid, namespace: "default", attempt: 0 },
          hostname: uid,
          logDirectory: join(this.root, "logs"),
          labels: {},
          annotations: {},
          linux: {
            cgroupParent: `/knarr/${this.network.options.cluster}/${node.name}/${uid}`,
            securityContext: { namespaceOptions: {} },
          },
        },
        handler: "",
      }),
    );
    const { status } = await withCri(socket, (call) => call(rpcs.sandboxStatus, { id }));
    const bundle = join(this.bundles(i), id);
    return {
      id,
      address: status?.network?.ip ?? "",
      bundle,
      pid: Number(readFileSync(join(bundle, "init.pid"), "utf8")),
      shimSocket: readFileSync(join(bundle, "address"), "utf8").replace("unix://", ""),
    };
  }

  /** Ids of the pods that run. */
  async pods(i: number): Promise<readonly string[]> {
    const { items } = await withCri(at(this.nodes, i).socket, (call) => call(rpcs.listSandboxes, {}));
    return items.filter(({ state }) => state === 0).map(({ id }) => id);
  }

  bundles(i: number): string {
    return join(
      this.#optionsOf(at(this.network.nodes, i)).runFolder,
      "containerd/io.containerd.runtime.v2.task/k8s.io",
    );
  }

  /** What is on the machine because of this one; nothing when all has been removed. */
  async traces(): Promise<readonly string[]> {
    return changesOf(this.#before, await tracesOf(this.network, this.root));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      for (const node of this.nodes) await node.remove();
    } finally {
      await removeNetwork(this.network);
      await rm(this.root, { recursive: true, force: true });
    }
  }
}

export interface TestPod {
  readonly id: string;
  readonly address: string;
  /** Where its shim works. */
  readonly bundle: string;
  readonly pid: number;
  readonly shimSocket: string;
}

export const at = <T>(list: readonly T[], i: number): T => list[i] as T;

/** Others use this machine at the same time: only what bears our names counts. */
const tracesOf = ({ link, options, switch: join }: LocalNetwork, root: string) =>
  readTraces({
    folders: [root],
    isMine: (trace) => [link, options.cluster, join, root].some((name) => trace.includes(name)) && trace !== root,
  });

async function withCri<T>(
  socket: string,
  use: (call: <D, R>(rpc: CriRpc<D, R>, draft: D) => Promise<R>) => Promise<T>,
): Promise<T> {
  const { signal } = new AbortController();
  const connection = new CriConnection(`unix://${socket}`, systemClock);
  try {
    return await use((rpc, draft) => connection.call(rpc, draft, { timeoutMs: 30_000, signal }));
  } finally {
    connection.close();
  }
}
