// The nodes of this machine in one process. A node that fails is tried again; it harms neither the others nor the control plane.
import { statSync } from "node:fs";
import { join } from "node:path";
import { aborted } from "#base/aborted.ts";
import { explain } from "#base/errors.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Kubelet } from "#kubelet/kubelet.ts";
import { NodeUnreachable } from "#kubelet/node-unreachable.ts";
import type { ClusterNodes, NodeParts } from "../cluster.ts";
import type { NodeServices, NodeServicesOptions } from "./node-services.ts";
import { nodeVolumes } from "./node-volumes.ts";
import type { MachineNode } from "./run-node.ts";

export interface RealNodesOptions extends NodeServicesOptions {
  /** Resolves when the network of the nodes is there. */
  readonly connected: Promise<void>;
}

const retryMs = { first: 1_000, most: 30_000 };

/** A node with its switch. */
interface SwitchedNode {
  readonly node: MachineNode;
  kubelet: Kubelet | undefined;
  isOn: boolean;
  /** Aborts what the node does when it is switched off. */
  off: AbortController;
  /** Resolves when it is switched on. */
  on: PromiseWithResolvers<void>;
}

const switchedOn = (node: MachineNode): SwitchedNode => ({
  node,
  kubelet: undefined,
  isOn: true,
  off: new AbortController(),
  on: Promise.withResolvers<void>(),
});

export function realNodes(options: RealNodesOptions, parts: NodeParts): ClusterNodes {
  const { local, connected } = options;
  const nodes = new Map(local.nodes.map((node) => [node.name, switchedOn(node)]));
  const nodeOf = (name: string): SwitchedNode => {
    const found = nodes.get(name);
    if (!found) throw new Error(`there is no node ${name}`);
    return found;
  };
  return {
    name: "nodes",
    names: [...nodes.keys()],
    storage: nodeVolumes(
      (name) => join(nodeOf(name).node.folder, "volumes"),
      (name) => nodes.get(name)?.isOn === true,
    ),
    async handle(name, request) {
      const { kubelet } = nodeOf(name);
      if (!kubelet) throw new NodeUnreachable(`node ${name} is switched off`);
      return kubelet.handle(request);
    },
    isOn: (name) => nodeOf(name).isOn,
    stop(name) {
      const switched = nodeOf(name);
      switched.isOn = false;
      switched.on = Promise.withResolvers<void>();
      switched.off.abort(new Error("switched off"));
    },
    start(name) {
      const switched = nodeOf(name);
      switched.isOn = true;
      switched.off = new AbortController();
      switched.on.resolve();
    },
    setHealth: (name, health) => nodeOf(name).kubelet?.setHealth(health),
    async run(signal) {
      // Loaded late: it brings all that containers need, and the API server need not wait for that.
      const [{ nodeServices }] = await Promise.all([import("./node-services.ts"), connected]);
      const services = nodeServices(options, parts);
      const all = [...nodes.values()];
      const components = all.map(
        (switched): Component => ({
          name: switched.node.name,
          run: (inner) => keepRunning(switched, () => peersOf(switched, all), services, parts, inner),
        }),
      );
      await supervise([...services.components, ...components], signal);
    },
  };
}

/** Runs the node whenever it is switched on, and again after a failure. */
async function keepRunning(
  switched: SwitchedNode,
  peers: () => readonly Kubelet[],
  services: NodeServices,
  { clock, log }: NodeParts,
  signal: AbortSignal,
): Promise<void> {
  const { node } = switched;
  const onKubelet = (kubelet: Kubelet) => {
    switched.kubelet = kubelet;
  };
  for (let waitMs = retryMs.first; !signal.aborted; ) {
    if (!switched.isOn) {
      await node.containerd.stop();
      await Promise.race([switched.on.promise, aborted(signal)]);
      continue;
    }
    const either = AbortSignal.any([signal, switched.off.signal]);
    const began = clock.elapsed();
    try {
      await services.runNode({ node, peers, onKubelet }, either);
    } catch (error) {
      if (either.aborted) continue;
      log.error("node failed; trying again", { node: node.name, error: explain(error) });
      if (clock.elapsed() - began > retryMs.most) waitMs = retryMs.first;
      await clock.sleep(waitMs, either).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, retryMs.most);
    } finally {
      switched.kubelet = undefined;
    }
  }
}

/** The kubelets of nodes on the same disk. */
const peersOf = (switched: SwitchedNode, all: readonly SwitchedNode[]): readonly Kubelet[] =>
  all
    .filter((other) => other !== switched && diskOf(other) === diskOf(switched))
    .flatMap(({ kubelet }) => kubelet ?? []);

const diskOf = ({ node }: SwitchedNode): number | undefined => statSync(node.folder, { throwIfNoEntry: false })?.dev;
