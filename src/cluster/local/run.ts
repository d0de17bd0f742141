// Runs a cluster of this machine in this process, until the signal aborts.

import { remoteConnections } from "#apiserver/host/remote-connections.ts";
import { webhookConnections } from "#apiserver/host/webhook-connections.ts";
import { servedBy } from "#apiserver/served/runtime-config.ts";
import { systemClock } from "#base/clock.ts";
import { lockFolder } from "#base/host/folder-lock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { Log } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { outlive, supervise } from "#base/supervise.ts";
import { yamlThread } from "#wire/host/yaml-thread.ts";
import { advertisedAddress } from "../advertised-address.ts";
import { assembleCluster, type ClusterConfig } from "../cluster.ts";
import type { ControlPlaneCertificates } from "../control-plane-certificates.ts";
import { candidateIn } from "../elected-part.ts";
import type { LocalEtcd } from "../etcd/local-etcd.ts";
import { ownFrontProxy, trusting } from "../front-proxy.ts";
import { identityOptions, usualIdentity } from "../identity-options.ts";
import { signingWith } from "../signing-settings.ts";
import { liveCertificatesOf } from "./certificates.ts";
import { type ClusterFolder, processLock } from "./cluster-folder.ts";
import { isInPods } from "./control-plane-settings.ts";
import { ensureEncryption, openStoreOf } from "./encryption.ts";
import { localFront, urlOf } from "./front.ts";
import { homeAddress, memberAddress } from "./home-address.ts";
import { doesJoin, machineSettings } from "./machines.ts";
import { type NodesOptions, type NodesSetup, nodesOf } from "./nodes.ts";
import { keepKubeconfigs, networkOf, reportOf } from "./running-cluster.ts";
import { nodeNames, pluginsAsked, type Settings, storeOf, writeSettings } from "./settings.ts";
import type { StartStep } from "./step.ts";
import { nodeSwitches } from "./switches.ts";

export interface RunOptions {
  readonly place: ClusterFolder;
  readonly settings: Settings;
  readonly log: Log;
  readonly onStep: (step: StartStep) => void;
}

export async function runCluster(options: RunOptions, signal: AbortSignal): Promise<void> {
  const { place } = options;
  makeFolder(place.folder);
  const lock = lockFolder(place.folder, processLock, "cluster");
  const whole = { ...options, nodesOf, names: nodeNames(options.settings) };
  try {
    if (isInPods(options.settings)) {
      const { runAroundPods } = await import("../control-plane/run-around-pods.ts");
      await runAroundPods(whole, signal);
    } else await runWithStore(whole, signal);
  } finally {
    lock.release();
  }
}

export interface ControlPlaneOptions extends RunOptions {
  readonly nodesOf: (options: NodesOptions, signal: AbortSignal) => Promise<NodesSetup>;
  /** Of the nodes in this process. */
  readonly names: readonly string[];
}

/** Runs a control plane, and before it the member of etcd that is to run beside it. */
export async function runWithStore(options: ControlPlaneOptions, signal: AbortSignal): Promise<void> {
  const { place, settings, log } = options;
  if (!settings.ha) return runControlPlane(options, undefined, signal);
  const { LocalEtcd, newMember, readMember, writeMember } = await import("../etcd/local-etcd.ts"); // with gRPC
  const member = readMember(place) ?? (await newMember(memberAddress(settings)));
  writeMember(place, member);
  const etcd = new LocalEtcd(place, member, log);
  const controlPlane = {
    name: "control plane",
    async run(stop: AbortSignal) {
      await etcd.ready(stop);
      await runControlPlane(options, etcd, stop);
    },
  };
  await outlive(etcd.process, controlPlane, signal);
}

async function runControlPlane(
  { log, onStep, ...options }: ControlPlaneOptions,
  etcd: LocalEtcd | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { place } = options;
  const settings = ensureEncryption(place, options.settings, systemRandom);
  const certificates = liveCertificatesOf(place, settings, log, () => etcd?.renewCertificates());
  const { authority } = certificates.current;
  const network = networkOf(settings);
  const nodes = await options.nodesOf({ place, settings, network, clientCa: authority.cert }, signal);
  const remote = remoteConnections(() => certificates.current.frontProxy.client);
  const storeLog = log.with({ component: "store" });
  const { store, healthChecks } = await openStoreOf(place, settings, storeLog, etcd && (async () => etcd.open()));
  const candidate = storeOf(settings) === "etcd" ? candidateIn(place.folder, systemRandom) : undefined;
  try {
    const front = localFront({ settings, certificates, log, inside: nodes.inside }, (port) => {
      writeSettings(place, { ...settings, port });
      keepKubeconfigs(certificates, { place, log, url: urlOf(settings, port) }, signal);
      return { address: advertisedOf(settings, nodes) ?? advertisedAddress(network), port };
    });
    const cluster = assembleCluster(
      {
        network,
        rootCa: authority.cert,
        signing: signingWith(() => authority, certificateMs),
        identity: identityOf(place, certificates.current, doesJoin(settings)),
        loadBalancerAddresses: settings["load-balancer-range"].split(","),
        nodes: nodes.make,
        ...(doesJoin(settings) && { machines: machineSettings(settings) }),
        objects: nodes.objects,
        ...askedOf(settings),
        ...(candidate !== undefined && { candidate }),
      },
      {
        clock: systemClock,
        random: systemRandom,
        log,
        store,
        connection: nodes.connection,
        webhooks: webhookConnections(),
        readYaml: yamlThread(systemClock),
        aggregation: { connection: remote, routesToEndpoints: true },
        healthChecks,
        front,
      },
    );
    const switches = nodeSwitches(place, options.names, cluster.nodes);
    const report = reportOf(cluster, () => front.url, { log, onStep });
    const beside = nodes.beside(cluster, { ca: authority.cert, log, candidate });
    const following = etcd ? [etcd.follower()] : [];
    await supervise([cluster, certificates, switches, report, ...beside, ...following], signal);
  } finally {
    remote.close();
    await store.close();
  }
}

/** Where pods and other machines reach the API. Where there are several servers, nodes of all machines have to reach each. */
const advertisedOf = (settings: Settings, nodes: NodesSetup): string | undefined =>
  storeOf(settings) === "etcd" && doesJoin(settings) ? homeAddress(settings) : nodes.inside?.address;

/** What flags ask of the cluster as they are. */
const askedOf = (settings: Settings): Pick<ClusterConfig, "waitsForReadyNodes" | "admission" | "served"> => ({
  waitsForReadyNodes: !settings["no-network"],
  admission: pluginsAsked(settings),
  served: servedBy(settings["runtime-config"], settings["enable-admission-plugins"]),
});

/** As long as upstream's are. */
const certificateMs = 365 * 24 * 60 * 60 * 1000;

/** Tokens that never end are found in old backups; a year is what pods' own tokens may live as well. */
const longestToken = "8760h";

function identityOf(place: ClusterFolder, { authority, frontProxy }: ControlPlaneCertificates, takesTokens: boolean) {
  const identity = identityOptions(
    {
      ...usualIdentity(place.certificates),
      "service-account-max-token-expiration": longestToken,
      "enable-bootstrap-token-auth": takesTokens,
    },
    authority.cert,
  );
  const proxies = trusting(ownFrontProxy(frontProxy).trust);
  return { ...identity, authenticators: [...proxies.authenticators, ...identity.authenticators] };
}
