// Runs a cluster of this machine whose control plane is static pods of its first node. What is in this process is what a machine has
// besides: kubelets, proxies, names, add-ons. It makes the certificates, the images and the manifests, and leaves the rest to the kubelet.
import { join } from "node:path";
import { systemClock as clock } from "#base/clock.ts";
import { systemRandom as random } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Certificates } from "../certificates.ts";
import { liveCertificatesOf } from "../local/certificates.ts";
import { ensureEncryption } from "../local/encryption.ts";
import { apiPort } from "../local/front.ts";
import type { ControlPlaneOptions } from "../local/run.ts";
import { keepKubeconfigs, networkOf, reportOf } from "../local/running-cluster.ts";
import { writeSettings } from "../local/settings.ts";
import { nodeSwitches } from "../local/switches.ts";
import { localNodes } from "../machine/local-nodes.ts";
import { processMetrics } from "../process-metrics.ts";
import { controlPlanePods } from "./control-plane-pods.ts";
import { failingPart } from "./failing-part.ts";
import { IdentityClients } from "./identity-clients.ts";
import { issuePartCertificates, writePartKubeconfigs } from "./part-files.ts";
import { remoteCluster } from "./remote-cluster.ts";

export async function runAroundPods(
  { place, log, onStep, names, ...options }: ControlPlaneOptions,
  signal: AbortSignal,
): Promise<void> {
  const settings = ensureEncryption(place, options.settings, random);
  const [node] = localNodes(place, settings).nodes;
  if (!node) throw new Error("there is no node that the control plane could run on");
  const port = settings.port || apiPort;
  const url = `https://${node.address.includes(":") ? `[${node.address}]` : node.address}:${port}`;
  writeSettings(place, { ...settings, port });
  const own = new Certificates(place.certificates, clock);
  const certificates = liveCertificatesOf(place, settings, log, () =>
    issuePartCertificates(place, settings, own, node.address),
  );
  keepKubeconfigs(certificates, { place, log, url }, signal);
  writePartKubeconfigs(place, certificates.current, url);
  certificates.subscribe((now) => writePartKubeconfigs(place, now, url));
  const ca = certificates.current.authority.cert;
  const network = networkOf(settings);
  const nodes = await options.nodesOf({ place, settings, network, clientCa: ca }, signal);
  const metrics = processMetrics();
  const clients = new IdentityClients({ server: url, ca, certificates: own, clock, metrics });
  certificates.subscribe(() => clients.renew());
  const pods = controlPlanePods({ place, settings, node, port, log: log.with({ component: "control-plane" }) });
  try {
    const cluster = remoteCluster({
      clients,
      nodes: nodes.make,
      objects: nodes.objects,
      waitsForReadyNodes: !settings["no-network"],
      loadBalancerAddresses: settings["load-balancer-range"].split(","),
      controlPlane: pods.names,
      problem: failingPart(join(node.folder, "logs")),
      clock,
      random,
      log,
      metrics,
    });
    const switches = nodeSwitches(place, names, cluster.nodes);
    const report = reportOf(cluster, () => url, { log, onStep });
    const beside = nodes.beside(cluster, { ca, log, candidate: undefined });
    await supervise([cluster, pods, certificates, switches, report, ...beside], signal);
  } finally {
    clients.close();
  }
}
