// One node of this machine at work: its containerd, the kubelet that speaks to it, and the proxy of its network namespace.
import { join } from "node:path";
import { Service } from "#api/core/v1/service.ts";
import { runProgram } from "#base/host/run-program.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { machineKubelet } from "#kubelet/host/machine-kubelet.ts";
import { type ClusterResolver, resolverConfigOf } from "#kubelet/inputs/resolver-config.ts";
import type { Kubelet } from "#kubelet/kubelet.ts";
import { evictionThresholds } from "#kubelet/node/pressure.ts";
import { HealthPorts } from "#proxy/health-ports.ts";
import { conntrack } from "#proxy/host/conntrack.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import type { RunOnNode } from "#proxy/proxy-mode.ts";
import type { KeyPair } from "../certificates.ts";
import type { NodeParts } from "../cluster.ts";
import type { ImageSupply } from "../images/supply.ts";
import { kubernetesVersion } from "../version.ts";
import { InsideConnections } from "./connect-inside.ts";
import { registriesIn } from "./containerd-config.ts";
import { kubeletListener } from "./kubelet-listener.ts";
import type { NodeMachine } from "./local-nodes.ts";
import { serveInside } from "./serve-inside.ts";

export interface RealNodeOptions {
  readonly machine: NodeMachine;
  readonly parts: NodeParts;
  readonly resolver: ClusterResolver;
  /** Networks of all pods. */
  readonly podRanges: readonly string[];
  /** Processes that a pod may have; negative for no limit. */
  readonly podPidsLimit: number;
  /** What the kubelet shows at its port. */
  readonly certificate: (machine: NodeMachine) => KeyPair;
  /** Whose clients the kubelet knows by their certificates, in PEM. */
  readonly clientCa: string;
  readonly supply: ImageSupply;
  /** The kubelets of the other nodes. */
  readonly peers: () => Iterable<Kubelet>;
  /** Told its kubelet as soon as it can be asked. */
  readonly onKubelet: (kubelet: Kubelet) => void;
}

const kubeletPort = 10_250;
const proxyMode = "nftables";

/** Upstream puts pods out, and images away, when a seventh of the disk is left, which is how most people's disks are. */
const patient = {
  ...evictionThresholds,
  nodeFsAvailable: 0.02,
  nodeFsInodesFree: 0.02,
  imageFsAvailable: 0.02,
  imageFsInodesFree: 0.02,
};

/** Runs until the signal aborts. What runs in its containers goes on then. */
export async function runRealNode(options: RealNodeOptions, signal: AbortSignal): Promise<void> {
  const { machine, parts, resolver, podRanges } = options;
  const { name, folder, runFolder, netns, address, podRange, containerd } = machine;
  const { clock, random, informers } = parts;
  const log = parts.log.with({ node: name });
  const client = parts.clientFor(name);
  const certificate = options.certificate(machine);
  const inside = new InsideConnections(netns);
  await containerd.start(signal);
  const images = options.supply.to({ runtime: containerd, registries: registriesIn(folder) });
  const kubelet = await machineKubelet(
    {
      name,
      addresses: [
        { type: "InternalIP", address },
        { type: "Hostname", address: name },
      ],
      port: kubeletPort,
      podCidrs: [podRange],
      folder,
      memoryFolder: join(runFolder, "pods"),
      cgroupRoot: machine.cgroup,
      staticPodsFolder: join(folder, "manifests"),
      podPidsLimit: options.podPidsLimit,
      thresholds: patient,
      imageThresholds: { highPercent: 98, lowPercent: 97 },
      peers: options.peers,
      endpoint: `unix://${containerd.socket}`,
      dialRuntime: (at, inner) => inside.connect(at, inner),
      kubeletVersion: kubernetesVersion,
      client,
      services: informers.of(Service),
      registered: () => parts.registered(name),
      dns: (pod) => resolverConfigOf(pod, resolver),
      clusterDomain: resolver.domain,
      imageComing: (reference, stop) => images.waitFor(reference, stop),
      clock,
      random,
      log,
    },
    signal,
  );
  const families = ["IPv4"] as const;
  const run: RunOnNode = (command, more) => runProgram(["nsenter", `--net=/run/netns/${netns}`, ...command], more);
  const proxy = new ServiceProxy({
    informers,
    ...chooseMode(proxyMode, { run, families, podRanges }),
    connections: conntrack(run),
    node: name,
    families,
    clock,
    log: log.with({ component: "proxy" }),
  });
  const healthPorts = new HealthPorts({
    informers,
    node: name,
    isHealthy: () => proxy.hasSynced,
    serve: (at, answer, stop) => serveInside({ namespace: netns, address, port: at }, answer, stop),
    clock,
    log: log.with({ component: "proxy" }),
  });
  const port = kubeletListener({
    node: name,
    handle: kubelet.handle,
    client,
    clock,
    log,
    namespace: netns,
    address,
    port: kubeletPort,
    certificate,
    clientCa: options.clientCa,
  });
  const daemon: Component = { name: "containerd", run: (inner) => containerd.keepRunning(log, inner) };
  options.onKubelet(kubelet);
  await supervise([daemon, kubelet, proxy, healthPorts, port, images], signal);
}
