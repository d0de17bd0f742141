// The collector of a node's logs in a process of its own.
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { systemRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { connectClient } from "#client/host/connect.ts";
import { Informers } from "#client/informers.ts";
import { LogCollector } from "#logging/host/collector.ts";
import { podLabels } from "#logging/pod-labels.ts";
import { kubernetesVersion } from "../version.ts";
import { type CollectorOutputSettings, CollectorOutputs } from "./collector-outputs.ts";
import { endingSignal, healthPages } from "./log-pages.ts";
import { LiveLogSettings } from "./log-settings.ts";

export interface LogCollectorSettings extends CollectorOutputSettings {
  readonly node: string;
  readonly logs: string;
  readonly state: string;
  readonly config: string;
  readonly port: number;
  readonly kubeconfig: string | undefined;
}

/** Returns when the process is told to end. */
export async function runLogCollector(settings: LogCollectorSettings): Promise<void> {
  const [clock, random] = [systemClock, systemRandom];
  const log = createLog({ clock, write: writeToStderr });
  const live = new LiveLogSettings(settings.config, clock, log);
  const { signal, ended } = endingSignal();
  const connection = await connectClient({
    explicit: settings.kubeconfig,
    env: process.env,
    userAgent: `log-collector/${kubernetesVersion}`,
    clock,
    signal,
  });
  const informers = new Informers({ client: connection.client, clock, random, log });
  const metrics = new MetricRegistry();
  const outputs = new CollectorOutputs(settings, connection.client);
  const collector = new LogCollector({
    node: settings.node,
    folder: settings.logs,
    checkpointFile: join(settings.state, "checkpoints.json"),
    labels: podLabels(informers, settings.node),
    settings: () => live.current,
    output: (epoch) => outputs.current(live.current, epoch),
    clock,
    random,
    log,
    metrics,
  });
  const pages = healthPages(settings.port, metrics, () =>
    collector.isHealthy ? undefined : "the logs of the node cannot be read",
  );
  try {
    await supervise([informers, live, collector, pages], signal);
  } finally {
    connection.close();
    outputs.close();
  }
  if (signal.reason !== ended) throw signal.reason;
}
