// Makes and removes the network of a cluster on this machine.
import { ProgramFailed, runProgram } from "#base/host/run-program.ts";
import { stepsToRoute } from "../host-routes.ts";
import { type LocalNetwork, type LocalNode, stepsDown, stepsToUnplug, stepsUp } from "../local-network.ts";
import { type ApplyOptions, applySteps } from "./apply-steps.ts";
import { namespacesOf, readHostState } from "./host-state.ts";

/** Makes it, or completes what is there of it: links, namespaces or routes may be missing in any combination. */
export async function makeNetwork(network: LocalNetwork, options: ApplyOptions = {}): Promise<void> {
  try {
    await applySteps(stepsUp(network), options);
  } catch (error) {
    if (!(error instanceof ProgramFailed) || !(await repair(network, options))) throw error;
    await applySteps(stepsUp(network), options);
  }
}

/**
 * Removes what a half-dead network has that would be in the way: files without a namespace, and cables of which one end is missing, as
 * when a namespace was deleted while programs still ran in it. Says whether there was any.
 */
async function repair(network: LocalNetwork, options: ApplyOptions): Promise<boolean> {
  const { namespaces, links } = await readHostState(namespacesOf(network), options.prefix);
  const broken = namespaces.filter(({ isWhole }) => !isWhole);
  for (const { name } of broken) await runProgram(["ip", "netns", "delete", name]);
  const whole = new Map(namespaces.filter(({ isWhole }) => isWhole).map((one) => [one.name, one.links]));
  if (!whole.has(network.switch)) return broken.length > 0;
  const has = (netns: string, link: string) => whole.get(netns)?.some(({ name }) => name === link) ?? false;
  const lost = network.nodes.filter(
    ({ netns, port }) => whole.has(netns) && !(has(netns, "eth0") && has(network.switch, port)),
  );
  const isHostLost = !(has(network.switch, "host") && links.some(({ name }) => name === network.link));
  if (lost.length > 0 || isHostLost) await applySteps(stepsToUnplug(network, lost, isHostLost), options);
  return broken.length > 0 || lost.length > 0 || isHostLost;
}

/** Has the host reach services through these nodes: to be called whenever one goes or comes. */
export const routeServices = (
  network: LocalNetwork,
  alive: readonly LocalNode[],
  options: ApplyOptions = {},
): Promise<void> => applySteps(stepsToRoute(network, alive), options);

/** Removes it, or what is left of it. */
export const removeNetwork = (network: LocalNetwork, options: ApplyOptions = {}): Promise<void> =>
  applySteps(stepsDown(network), options);
