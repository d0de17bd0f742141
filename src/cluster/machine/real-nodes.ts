// The nodes of this machine in one process. A node that fails is tried again; it harms neither the others nor the control plane.
import { readFileSync } from "node:fs";
import { aborted } from "#base/aborted.ts";
import { explain } from "#base/errors.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { machineResolvers } from "#dns/host/forwarder.ts";
import { parseResolverConfig } from "#kubelet/inputs/resolver-config.ts";
import type { Kubelet } from "#kubelet/kubelet.ts";
import { NodeUnreachable } from "#kubelet/node-unreachable.ts";
import { applySteps } from "#network/host/apply-steps.ts";
import { ServiceRoutes } from "#network/service-routes.ts";
import type { ClusterNodes, NodeParts } from "../cluster.ts";
import { clusterDns, clusterDomain } from "../cluster-dns.ts";
import type { KeptImages } from "../images/kept-images.ts";
import { ImageSupply } from "../images/supply.ts";
import type { LocalNodes, NodeMachine } from "./local-nodes.ts";
import { type RealNodeOptions, runRealNode } from "./real-node.ts";

export interface RealNodesOptions
  extends Pick<RealNodeOptions, "podRanges" | "podPidsLimit" | "certificate" | "clientCa"> {
  readonly local: LocalNodes;
  /** Resolves when the network of the nodes is there. */
  readonly connected: Promise<void>;
  /** Address of the DNS service. */
  readonly dnsAddress: string;
  /** Where images to try clusters with are kept. */
  readonly imageCache: string;
  readonly keptImages: KeptImages;
}

const retryMs = { first: 1_000, most: 30_000 };

interface Switched {
  readonly machine: NodeMachine;
  kubelet: Kubelet | undefined;
  isOn: boolean;
  /** Ends what it does, when it is switched off. */
  off: AbortController;
  /** Wakes it when it is switched on. */
  on: PromiseWithResolvers<void>;
}

export function realNodes(options: RealNodesOptions, parts: NodeParts): ClusterNodes {
  const { local, connected, dnsAddress } = options;
  const { clock, log } = parts;
  const { egress } = local.network.options;
  const resolver = {
    server: dnsAddress,
    domain: clusterDomain,
    machine: egress
      ? parseResolverConfig(readFileSync("/etc/resolv.conf", "utf8"))
      : { servers: [], searches: [], options: [] },
  };
  const nodes = new Map(
    local.machines.map((machine): [string, Switched] => [
      machine.name,
      {
        machine,
        kubelet: undefined,
        isOn: true,
        off: new AbortController(),
        on: Promise.withResolvers<void>(),
      },
    ]),
  );
  const nodeOf = (name: string): Switched => {
    const node = nodes.get(name);
    if (!node) throw new Error(`there is no node ${name}`);
    return node;
  };
  const dns = clusterDns({
    ...parts,
    log: log.with({ component: "dns" }),
    address: local.network.hostAddress,
    serviceAddress: dnsAddress,
    resolvers: egress ? machineResolvers() : [],
  });

  const supply = new ImageSupply({
    ...parts,
    log: log.with({ component: "images" }),
    cacheFolder: options.imageCache,
    kept: options.keptImages,
    address: local.network.hostAddress,
  });
  const routes = new ServiceRoutes({
    ...parts,
    log: log.with({ component: "network" }),
    network: local.network,
    apply: (stages, signal) => applySteps(stages, { signal }),
  });

  async function runNode(node: Switched, signal: AbortSignal): Promise<void> {
    for (let waitMs = retryMs.first; !signal.aborted; ) {
      if (!node.isOn) {
        await node.machine.containerd.stop();
        await Promise.race([node.on.promise, aborted(signal)]);
        continue;
      }
      const either = AbortSignal.any([signal, node.off.signal]);
      const began = clock.elapsed();
      try {
        const onKubelet = (kubelet: Kubelet) => {
          node.kubelet = kubelet;
        };
        const peers = () => [...nodes.values()].flatMap((other) => (other === node ? [] : (other.kubelet ?? [])));
        await runRealNode({ ...options, machine: node.machine, parts, resolver, supply, peers, onKubelet }, either);
      } catch (error) {
        if (!either.aborted) {
          log.error("node failed; trying again", { node: node.machine.name, error: explain(error) });
          if (clock.elapsed() - began > retryMs.most) waitMs = retryMs.first;
          await clock.sleep(waitMs, either).catch(() => undefined);
          waitMs = Math.min(waitMs * 2, retryMs.most);
        }
      } finally {
        node.kubelet = undefined;
      }
    }
  }

  return {
    name: "nodes",
    names: [...nodes.keys()],
    async handle(name, request) {
      const { kubelet } = nodeOf(name);
      if (!kubelet) throw new NodeUnreachable(`node ${name} is switched off`);
      return kubelet.handle(request);
    },
    isOn: (name) => nodeOf(name).isOn,
    stop(name) {
      const node = nodeOf(name);
      node.isOn = false;
      node.on = Promise.withResolvers<void>();
      node.off.abort(new Error("switched off"));
    },
    start(name) {
      const node = nodeOf(name);
      node.isOn = true;
      node.off = new AbortController();
      node.on.resolve();
    },
    setHealth: (name, health) => nodeOf(name).kubelet?.setHealth(health),
    async run(signal) {
      await connected;
      const components = [...nodes.values()].map(
        (node): Component => ({ name: node.machine.name, run: (inner) => runNode(node, inner) }),
      );
      await supervise([dns, routes, supply, ...components], signal);
    },
  };
}
