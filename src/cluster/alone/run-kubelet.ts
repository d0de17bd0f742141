// The kubelet of this machine in a process of its own, on whatever runtime speaks CRI.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog, type Log } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { asCertificates, flagFile } from "#cli/host/flag-file.ts";
import { loadKubeconfig } from "#client/host/kubeconfig-files.ts";
import { resolveContext } from "#client/kubeconfig.ts";
import { type MachineKubeletOptions, machineKubelet } from "#kubelet/host/machine-kubelet.ts";
import { parseResolverConfig, resolverConfigOf, withoutLoopback } from "#kubelet/inputs/resolver-config.ts";
import { kubeletListener } from "../machine/kubelet-listener.ts";
import { bootstrap, clientCertificate } from "../node/bootstrap.ts";
import { addressTowards, serverPlace } from "../node/own-address.ts";
import { requestCertificate } from "../node/request-certificate.ts";
import { certificateRotation } from "../node/rotation.ts";
import { servingPair } from "../node/serving-pair.ts";
import { StoredPair } from "../node/stored-pair.ts";
import { processMetrics } from "../process-metrics.ts";
import { kubernetesVersion } from "../version.ts";
import { accessApi, type ClusterAccess } from "./access.ts";
import type { KubeletSettings } from "./kubelet-settings.ts";
import { servePaths } from "./serve-paths.ts";

const [clock, random] = [systemClock, systemRandom];

/** Returns when the process is told to end. Containers go on without us. */
export async function runKubelet(settings: KubeletSettings): Promise<void> {
  const log = createLog({ clock, level: settings.isVerbose ? "debug" : "info", write: writeToStderr });
  for (const field of settings.ignored) log.warn("a field of the configuration has no effect", { field });
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
  const { kubeconfig, node } = settings;
  if (kubeconfig === undefined) throw new UsageError("--kubeconfig is needed");
  const pair = new StoredPair(settings.certificateFolder, "kubelet-client", clock);
  await bootstrap(
    { node, kubeconfig, bootstrapKubeconfig: settings.bootstrapKubeconfig, pair, clock, log },
    stop.signal,
  );
  const access = await accessApi({
    kubeconfig,
    part: "kubelet",
    clock,
    metrics: processMetrics(),
    mayWrite: () => true,
  });
  try {
    await supervise(
      [...(await partsOf(settings, { access, pair, kubeconfig, log }, stop.signal)), access.renewal],
      stop.signal,
    );
  } finally {
    access.close();
  }
}

interface Parts {
  readonly access: ClusterAccess;
  readonly pair: StoredPair;
  readonly kubeconfig: string;
  readonly log: Log;
}

async function partsOf(settings: KubeletSettings, parts: Parts, signal: AbortSignal): Promise<readonly Component[]> {
  const { access, log } = parts;
  const { client } = access;
  const { node } = settings;
  const address = settings.nodeIp ?? (await ownAddress(parts.kubeconfig));
  const kubelet = await machineKubelet(kubeletOptions(settings, address, parts), signal);
  const pair = servingPair({
    node,
    addresses: [address],
    folder: settings.certificateFolder,
    files: settings.tlsFiles,
    isRequested: settings.rotatesServer,
    client,
    clock,
    random,
    log,
  });
  const port = kubeletListener({
    node,
    handle: kubelet.handle,
    client,
    clock,
    log,
    address: settings.address,
    port: settings.port,
    servesAnonymous: settings.servesAnonymous,
    allowsAll: settings.allowsAll,
    certificate: pair.read,
    certificateFiles: pair.files,
    clientCa:
      settings.clientCaFile === undefined
        ? undefined
        : flagFile("client-ca-file", settings.clientCaFile, asCertificates),
  });
  const isOk = () => ({ code: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: "ok" });
  const health = settings.healthz.port === 0 ? [] : [servePaths("healthz", settings.healthz, { "/healthz": isOk })];
  return [kubelet, port, ...pair.components, ...health, ...clientRotation(settings, parts)];
}

/** Of a certificate that is ours; another is its owner's business. */
function clientRotation({ rotatesClient, node }: KubeletSettings, { access, pair, log }: Parts): readonly Component[] {
  if (!rotatesClient || pair.read() === undefined) return [];
  return [
    certificateRotation({
      what: "client certificate",
      current: () => pair.read(),
      request: (signal) => requestCertificate(clientCertificate(node), { client: access.client, clock }, signal),
      store: (renewed) => pair.write(renewed),
      clock,
      random,
      log,
    }),
  ];
}

async function ownAddress(kubeconfig: string): Promise<string> {
  const { cluster } = resolveContext(await loadKubeconfig({ explicit: kubeconfig, env: {} }), kubeconfig);
  const { host, port } = serverPlace(cluster.server);
  return addressTowards(host, port);
}

function kubeletOptions(settings: KubeletSettings, address: string, { access, log }: Parts): MachineKubeletOptions {
  const { folder, node, dns, staticPodsFolder, staticPodsUrl } = settings;
  const [server] = dns.servers;
  const machine = parseResolverConfig(readFileSync(dns.file, "utf8"));
  const resolver =
    server === undefined ? undefined : { server, domain: dns.domain, machine: withoutLoopback(machine, server) };
  return {
    name: node,
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: node },
    ],
    port: settings.port,
    labels: settings.labels,
    taints: settings.taints,
    registers: settings.registers,
    folder,
    memoryFolder: join(folder, "memory"),
    cgroupRoot: settings.cgroupRoot,
    ...(staticPodsFolder !== undefined && { staticPodsFolder }),
    ...(staticPodsUrl && { staticPodsUrl }),
    podPidsLimit: settings.podPidsLimit,
    maxPods: settings.maxPods,
    thresholds: settings.thresholds,
    imageThresholds: settings.imageThresholds,
    endpoint: settings.endpoint,
    kubeletVersion: kubernetesVersion,
    client: access.client,
    ...(resolver && { dns: (pod) => resolverConfigOf(pod, resolver) }),
    clusterDomain: dns.domain,
    clock,
    random,
    log,
  };
}
