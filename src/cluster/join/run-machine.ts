// A machine that has joined: its node at work, the ways to the other machines, and its certificates.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { lockFolder } from "#base/host/folder-lock.ts";
import type { Log } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { retry } from "#base/retry.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { parseResolverConfig, withoutLoopback } from "#kubelet/inputs/resolver-config.ts";
import { applySteps } from "#network/host/apply-steps.ts";
import { stepToAdmit } from "#network/machine-network.ts";
import { MachineRoutes } from "#network/machine-routes.ts";
import { accessApi } from "../alone/access.ts";
import type { NodeParts } from "../cluster.ts";
import { KeptImages } from "../images/kept-images.ts";
import { ImageSupply } from "../images/supply.ts";
import { type ClusterFolder, processLock } from "../local/cluster-folder.ts";
import { markHome } from "../machine/home.ts";
import { runNode } from "../machine/run-node.ts";
import { clientCertificate } from "../node/bootstrap.ts";
import { requestCertificate } from "../node/request-certificate.ts";
import { certificateRotation } from "../node/rotation.ts";
import { type ServingPair, servingPair } from "../node/serving-pair.ts";
import { StoredPair } from "../node/stored-pair.ts";
import { processMetrics } from "../process-metrics.ts";
import { kubeconfigOf, type MachineMembership } from "./machine-folder.ts";
import { machineNetwork, machineNode, stepsUpMachine, tableName } from "./machine-node.ts";
import { machineServers, serversFollower } from "./machine-servers.ts";
import { registerNode } from "./node-claim.ts";

const [clock, random] = [systemClock, systemRandom];
const again = { firstMs: 1_000, maxMs: 30_000 };

/** Until the signal aborts. What runs in containers goes on then. */
export async function runMachine(
  place: ClusterFolder,
  machine: MachineMembership,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const lock = lockFolder(place.folder, processLock, "machine");
  try {
    const node: Component = { name: "node", run: (stop) => runMachineNode(place, machine, log, stop) };
    const controlPlane = machine.isControlPlane
      ? [(await import("./control-plane.ts")).controlPlaneOf(place, log)]
      : [];
    await supervise([...controlPlane, node], signal);
  } finally {
    lock.release();
  }
}

async function runMachineNode(
  place: ClusterFolder,
  machine: MachineMembership,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const metrics = processMetrics();
  const choice = machineServers(place, machine, { clock, log, drop: () => access.drop() });
  const access = await accessApi({
    kubeconfig: kubeconfigOf(place),
    part: "kubelet",
    clock,
    metrics,
    mayWrite: () => true,
    serverNow: () => choice.current,
  });
  const choosing = new AbortController();
  const chosen = choice.run(AbortSignal.any([signal, choosing.signal])).catch((error: unknown) => error);
  try {
    const { client } = access;
    const podRange = await registerNode(client, machine, log, signal);
    markHome(place);
    await applySteps(stepsUpMachine(place, machine, podRange), { signal });
    const informers = new Informers({ client, clock, random, log, metrics });
    const parts: NodeParts = {
      clock,
      random,
      log,
      metrics,
      informers,
      clientFor: () => client,
      registered: () => undefined,
    };
    const follower = serversFollower(choice, { place, machine, informers });
    const components = componentsOf(place, machine, { parts, client, podRange });
    await supervise([informers, ...components, access.renewal, follower], signal);
  } finally {
    choosing.abort(new Error("the node has ended"));
    await chosen;
    access.close();
  }
}

interface MachineParts {
  readonly parts: NodeParts;
  readonly client: Client;
  readonly podRange: string;
}

function componentsOf(
  place: ClusterFolder,
  machine: MachineMembership,
  { parts, client, podRange }: MachineParts,
): readonly Component[] {
  const { config, node, address } = machine;
  const { log } = parts;
  const folder = join(place.folder, "pki");
  const serving = servingPair({
    node,
    addresses: [address],
    folder,
    files: undefined,
    isRequested: true,
    client,
    clock,
    random,
    log,
  });
  const supply = new ImageSupply({
    ...parts,
    log: log.with({ component: "images" }),
    cacheFolder: place.imageCache,
    kept: new KeptImages(place.images),
    address: "127.0.0.1",
  });
  const routes = new MachineRoutes({
    ...parts,
    log: log.with({ component: "network" }),
    network: machineNetwork(place, machine, podRange),
    home: config.home,
    more: (peers) => [[stepToAdmit(tableName(place), peers)]],
    apply: (stages, stop) => applySteps(stages, { signal: stop }),
  });
  const pair = new StoredPair(folder, "kubelet-client", clock);
  const rotation = certificateRotation({
    what: "client certificate",
    current: () => pair.read(),
    request: (stop) => requestCertificate(clientCertificate(node), { client, clock }, stop),
    store: (renewed) => pair.write(renewed),
    clock,
    random,
    log,
  });
  return [
    routes,
    supply,
    rotation,
    ...serving.components,
    nodeOf(place, machine, { parts, podRange, serving, supply }),
  ];
}

interface RunParts extends Omit<MachineParts, "client"> {
  readonly serving: ServingPair;
  readonly supply: ImageSupply;
}

/** One that fails is tried again. */
function nodeOf(
  place: ClusterFolder,
  machine: MachineMembership,
  { parts, podRange, serving, supply }: RunParts,
): Component {
  const { config, address, ca } = machine;
  const resolvers = parseResolverConfig(readFileSync("/etc/resolv.conf", "utf8"));
  const resolver = {
    server: config.dnsAddress,
    domain: config.domain,
    machine: withoutLoopback(resolvers, config.dnsAddress),
  };
  const node = machineNode(place, machine, podRange);
  const when = (error: unknown) => {
    parts.log.error("the node failed; trying again", { error: explain(error) });
    return true;
  };
  return {
    name: "node",
    run: (signal) =>
      retry(
        (stop) =>
          runNode(
            {
              node,
              parts,
              resolver,
              podRanges: [config.podRange],
              doesEnforcePolicies: config.enforcesPolicies,
              hostAddresses: [address],
              podPidsLimit: config.podPidsLimit,
              proxyMode: config.proxyMode,
              certificate: serving.read,
              certificateFiles: serving.files,
              clientCa: ca,
              supply,
              peers: () => [],
              onKubelet: () => undefined,
            },
            stop,
          ),
        { ...again, clock, when },
        signal,
      ),
  };
}
