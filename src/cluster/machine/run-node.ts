// One node at work: its containerd, the kubelet that speaks to it, and the proxy of its network. Where the node is, its location knows.
import { join } from "node:path";
import { Service } from "#api/core/v1/service.ts";
import type { Log } from "#base/log.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { type MachineKubeletOptions, machineKubelet } from "#kubelet/host/machine-kubelet.ts";
import { type ClusterResolver, resolverConfigOf } from "#kubelet/inputs/resolver-config.ts";
import type { Kubelet } from "#kubelet/kubelet.ts";
import { evictionThresholds } from "#kubelet/node/pressure.ts";
import { PolicyEnforcer, removePolicyRules } from "#network/policy/enforcer.ts";
import { HealthPorts } from "#proxy/health-ports.ts";
import { conntrack } from "#proxy/host/conntrack.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import type { KeyPair } from "../certificates.ts";
import type { NodeParts } from "../cluster.ts";
import type { ImageSupply } from "../images/supply.ts";
import { kubernetesVersion } from "../version.ts";
import type { NodeContainerd } from "./containerd.ts";
import { registriesIn } from "./containerd-config.ts";
import { kubeletListener } from "./kubelet-listener.ts";
import { nodeForwarder } from "./node-forwarder.ts";
import type { NodeLocation } from "./node-location.ts";
import { serveHealth } from "./serve-health.ts";

/** What a node is, and what it has on its machine. */
export interface MachineNode {
  readonly name: string;
  /** The first of its addresses, at which its kubelet listens. */
  readonly address: string;
  /** One of each family. */
  readonly addresses: readonly string[];
  /** Networks of its pods, one of each family. */
  readonly podRanges: readonly string[];
  readonly location: NodeLocation;
  /** All files of the node. */
  readonly folder: string;
  /** Those that do not outlive a boot. */
  readonly runFolder: string;
  /** The control group of all its pods. */
  readonly cgroup: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly containerd: NodeContainerd;
}

export interface RunNodeOptions {
  readonly node: MachineNode;
  readonly parts: NodeParts;
  readonly resolver: ClusterResolver;
  /** Networks of all pods. */
  readonly podRanges: readonly string[];
  /** Whether connections of its pods are limited as network policies say. */
  readonly doesEnforcePolicies: boolean;
  /** Addresses of the machine, from which this process reaches pods. */
  readonly hostAddresses: readonly string[];
  /** Processes that a pod may have; negative for no limit. */
  readonly podPidsLimit: number;
  /** How traffic for services is carried, by the name of a proxy mode. */
  readonly proxyMode: string;
  /** The serving certificate of the kubelet's port. */
  readonly certificate: (node: MachineNode) => KeyPair;
  /** Files whose change has it asked for again at once. */
  readonly certificateFiles?: readonly string[];
  /** Authority of the client certificates that the kubelet accepts, in PEM. */
  readonly clientCa: string;
  readonly supply: ImageSupply;
  /** The kubelets of other nodes that share the disk and the memory of this one. */
  readonly peers: () => Iterable<Kubelet>;
  /** Called with the node's kubelet as soon as it can answer. */
  readonly onKubelet: (kubelet: Kubelet) => void;
}

const kubeletPort = 10_250;

/** Upstream evicts pods and removes images when a seventh of the disk is left, which is how most people's disks are. */
const patient = {
  ...evictionThresholds,
  nodeFsAvailable: 0.02,
  nodeFsInodesFree: 0.02,
  imageFsAvailable: 0.02,
  imageFsInodesFree: 0.02,
};

/** Runs until the signal aborts. What runs in its containers goes on then. */
export async function runNode(options: RunNodeOptions, signal: AbortSignal): Promise<void> {
  const { node, parts, supply } = options;
  const { containerd, folder } = node;
  const log = parts.log.with({ node: node.name });
  const client = parts.clientFor(node.name);
  await containerd.start(signal);
  const images = supply.to({ runtime: containerd, registries: registriesIn(folder) });
  const imageComing = (reference: string, stop: AbortSignal) => images.waitFor(reference, stop);
  const kubelet = await machineKubelet({ ...kubeletOptions(options, client, log), imageComing }, signal);
  const port = kubeletListener({
    node: node.name,
    handle: kubelet.handle,
    client,
    clock: parts.clock,
    log,
    location: node.location,
    address: node.address,
    port: kubeletPort,
    certificate: () => options.certificate(node),
    ...(options.certificateFiles && { certificateFiles: options.certificateFiles }),
    clientCa: options.clientCa,
  });
  const daemon: Component = { name: "containerd", run: (inner) => containerd.keepRunning(log, inner) };
  options.onKubelet(kubelet);
  const policies = await policiesOf(options, log, signal);
  await supervise([daemon, kubelet, ...proxyOf(options, log), ...policies, port, images], signal);
}

function kubeletOptions(options: RunNodeOptions, client: Client, log: Log): MachineKubeletOptions {
  const { node, parts, resolver, peers, podPidsLimit } = options;
  const { name, folder, runFolder, addresses, podRanges, cgroup, containerd, location } = node;
  const { clock, random, informers } = parts;
  return {
    name,
    addresses: [...addresses.map((address) => ({ type: "InternalIP", address })), { type: "Hostname", address: name }],
    port: kubeletPort,
    podCidrs: podRanges,
    ...(node.labels && { labels: node.labels }),
    folder,
    memoryFolder: join(runFolder, "pods"),
    cgroupRoot: cgroup,
    staticPodsFolder: join(folder, "manifests"),
    podPidsLimit,
    thresholds: patient,
    imageThresholds: { highPercent: 98, lowPercent: 97 },
    peers,
    endpoint: `unix://${containerd.socket}`,
    dial: (to, signal) => location.dial(to, signal),
    kubeletVersion: kubernetesVersion,
    client,
    services: informers.of(Service),
    registered: () => parts.registered(name),
    dns: (pod) => resolverConfigOf(pod, resolver),
    clusterDomain: resolver.domain,
    clock,
    random,
    log,
  };
}

/** What enforces network policies on the node. Where nothing is to, rules of an earlier run are removed. */
async function policiesOf(
  { node, parts, doesEnforcePolicies, hostAddresses }: RunNodeOptions,
  log: Log,
  signal: AbortSignal,
): Promise<readonly Component[]> {
  const { run } = node.location;
  if (!doesEnforcePolicies) {
    await removePolicyRules(run, signal);
    return [];
  }
  return [
    new PolicyEnforcer({
      ...parts,
      node: node.name,
      kubeletAddresses: hostAddresses,
      run,
      log: log.with({ component: "network-policy" }),
    }),
  ];
}

/** The proxy of the node, and the health of services that it tells load balancers. */
function proxyOf({ node, parts, podRanges, proxyMode }: RunNodeOptions, nodeLog: Log): readonly Component[] {
  const { name, address, addresses, location } = node;
  const { clock, informers } = parts;
  const log = nodeLog.with({ component: "proxy" });
  const { run } = location;
  const families = addresses.map((one) => (one.includes(":") ? "IPv6" : "IPv4"));
  const { forwarder, component: carrying } = nodeForwarder(location);
  const proxy = new ServiceProxy({
    informers,
    ...chooseMode(proxyMode, { run, families, podRanges, nodeAddresses: addresses, forwarder }),
    connections: conntrack(run),
    node: name,
    families,
    clock,
    log,
  });
  const healthPorts = new HealthPorts({
    informers,
    node: name,
    isHealthy: () => proxy.hasSynced,
    serve: (port, answer, signal) => serveHealth(location, { host: address, port }, answer, signal),
    clock,
    log,
  });
  return [proxy, healthPorts, carrying];
}
