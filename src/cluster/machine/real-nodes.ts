// The nodes of this machine in one process. A node that fails is tried again; it harms neither the others nor the control plane.
import { statSync } from "node:fs";
import { aborted } from "#base/aborted.ts";
import { explain } from "#base/errors.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Kubelet } from "#kubelet/kubelet.ts";
import { NodeUnreachable } from "#kubelet/node-unreachable.ts";
import type { ClusterNodes, NodeParts } from "../cluster.ts";
import type { NodeMachine } from "./local-nodes.ts";
import type { NodeWork, NodeWorkOptions } from "./node-work.ts";

export interface RealNodesOptions extends NodeWorkOptions {
  /** Resolves when the network of the nodes is there. */
  readonly connected: Promise<void>;
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
  const { local, connected } = options;
  const { clock, log } = parts;
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

  async function runNode(node: Switched, work: NodeWork, signal: AbortSignal): Promise<void> {
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
        const peers = () =>
          [...nodes.values()]
            .filter((other) => other !== node && diskOf(other) === diskOf(node))
            .flatMap(({ kubelet }) => kubelet ?? []);
        await work.runNode({ machine: node.machine, peers, onKubelet }, either);
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
      // With it comes all that containers need: whoever asks for the API need not wait for that.
      const [{ nodeWork }] = await Promise.all([import("./node-work.ts"), connected]);
      const work = nodeWork(options, parts);
      const components = [...nodes.values()].map(
        (node): Component => ({ name: node.machine.name, run: (inner) => runNode(node, work, inner) }),
      );
      await supervise([...work.components, ...components], signal);
    },
  };
}

const diskOf = ({ machine }: Switched): number | undefined => statSync(machine.folder, { throwIfNoEntry: false })?.dev;
