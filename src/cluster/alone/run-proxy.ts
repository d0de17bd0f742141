// The service proxy of this machine in a process of its own: it follows the API, and serves its health and its metrics.
import { Node } from "#api/core/v1/node.ts";
import { systemClock } from "#base/clock.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Informers } from "#client/informers.ts";
import { HealthPorts } from "#proxy/health-ports.ts";
import { conntrack } from "#proxy/host/conntrack.ts";
import { Forwarding } from "#proxy/host/forwarding.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import { ProxyHealth } from "#proxy/proxy-health.ts";
import { thisMachine } from "../machine/node-location.ts";
import { serveHealth } from "../machine/serve-health.ts";
import { processMetrics } from "../process-metrics.ts";
import { accessApi } from "./access.ts";
import { factsOf, familiesHere } from "./proxy-node.ts";
import { proxyServers } from "./proxy-servers.ts";
import type { ProxySettings } from "./proxy-settings.ts";

const { run } = thisMachine;

/** Returns when the process is told to end. Rules stay: connections go on without us. */
export async function runProxy(settings: ProxySettings): Promise<void> {
  const [clock, random] = [systemClock, systemRandom];
  const log = createLog({ clock, level: settings.isVerbose ? "debug" : "info", write: writeToStderr });
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
  const metrics = processMetrics();
  const forwarder = new Forwarding(clock);
  const { kubeconfig, node } = settings;
  const access = await accessApi({ kubeconfig, part: "kube-proxy", clock, metrics, mayWrite: () => true });
  try {
    const parts = { clock, random, log, metrics };
    const informers = new Informers({ client: access.client, ...parts });
    const families = familiesHere();
    for (const [path, value] of settings.kernel)
      await run(["tee", `/proc/sys/${path}`], { input: String(value), signal: stop.signal });
    const known = await factsOf(access.client, settings, log);
    const health = new ProxyHealth(clock, families);
    const options = { ...settings, ...known, run, families, forwarder };
    const chosen = chooseMode(settings.mode, options);
    await chosen.mode.check?.(stop.signal);
    const proxy = new ServiceProxy({
      ...parts,
      informers,
      ...chosen,
      connections: conntrack(run),
      node,
      families,
      health,
    });
    const healthPorts = new HealthPorts({
      ...parts,
      informers,
      node,
      isHealthy: () => proxy.hasSynced && health.isHealthy,
      serve: (port, answer, signal) => serveHealth(thisMachine, { host: "0.0.0.0", port }, answer, signal),
    });
    const nodeNow = () => informers.of(Node).cache.get(node);
    const servers = proxyServers(settings, { health, nodeNow, metrics });
    log.info("carrying traffic for services", { mode: settings.mode, node, families });
    await supervise([informers, proxy, healthPorts, ...servers, access.renewal], stop.signal);
  } finally {
    forwarder.end();
    access.close();
  }
}
