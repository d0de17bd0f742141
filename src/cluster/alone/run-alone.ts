// Runs one part of the control plane in a process of its own: serves its health and metrics, and lets it work while it leads.
import { hostname } from "node:os";
import { Lease } from "#api/coordination/v1/lease.ts";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog, type Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import { systemRandom } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import { elected } from "#client/election.ts";
import { EventRecorder } from "#client/events.ts";
import { Informers } from "#client/informers.ts";
import { warnOfIneffective } from "../ineffective-flags.ts";
import { processMetrics } from "../process-metrics.ts";
import { accessApi, type ClusterAccess } from "./access.ts";
import type { AloneSettings } from "./flags.ts";
import { serve } from "./serve.ts";

export interface AloneContext extends ClusterAccess {
  readonly informers: Informers;
  readonly clock: typeof systemClock;
  readonly random: typeof systemRandom;
  readonly log: Log;
  readonly metrics: MetricRegistry;
}

/** Returns when the signal aborts; throws when the part fails, or when it has lost its leadership. */
export async function runAlone(
  part: string,
  settings: AloneSettings,
  make: (context: AloneContext) => Component,
): Promise<void> {
  const [clock, random] = [systemClock, systemRandom];
  const log = createLog({ clock, level: settings.v >= 2 ? "debug" : "info", write: writeToStderr });
  warnOfIneffective({ ...settings }, log);
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
  let mayWrite = () => true;
  const metrics = processMetrics();
  const access = await accessApi({ kubeconfig: settings.kubeconfig, part, clock, metrics, mayWrite: () => mayWrite() });
  try {
    const parts = { clock, random, log, metrics };
    const informers = new Informers({ client: access.client, ...parts });
    const made = make({ ...access, informers, ...parts });
    const working: Component = { name: part, run: (signal) => supervise([informers, made], signal) };
    const led: Component[] = [working];
    if (settings["leader-elect"]) {
      const recorder = new EventRecorder({ client: access.ownClient, ...parts });
      const options = { client: access.ownClient, ...parts, ...electionOf(settings) };
      const onChange = electionEvents(recorder, options.identity, reportsAs(part));
      const leader = elected(working, { ...options, onChange });
      mayWrite = () => leader.mayWrite;
      led.splice(0, 1, leader, recorder);
    }
    const checks = [{ name: "ping", check: async () => undefined }];
    const front =
      settings["secure-port"] === 0 && settings.port === 0
        ? []
        : [serve({ settings, checks, client: access.ownClient, ...parts })];
    await supervise([...led, ...front, access.renewal], stop.signal);
  } finally {
    access.close();
  }
}

/** The scheduler reports as the profile that it has by default. */
const reportsAs = (part: string): string => (part === "kube-scheduler" ? "default-scheduler" : part);

/** Says on the lease who leads, for people who look for it there. */
const electionEvents =
  (recorder: EventRecorder, identity: string, component: string) =>
  ({ metadata }: Lease, what: string): void => {
    const { namespace, name, uid, resourceVersion } = metadata;
    const about = { kind: Lease.kind, apiVersion: Lease.apiVersion, namespace, name, uid, resourceVersion };
    recorder.record(about, { type: "Normal", reason: "LeaderElection", message: `${identity} ${what}`, component });
  };

function electionOf(settings: AloneSettings) {
  if (settings["leader-elect-resource-lock"] !== "leases")
    throw new UsageError(
      `--leader-elect-resource-lock is leases, not ${JSON.stringify(settings["leader-elect-resource-lock"])}`,
    );
  const ms = (name: "lease-duration" | "renew-deadline" | "retry-period") =>
    durationFlag(`leader-elect-${name}`, settings[`leader-elect-${name}`]);
  const [leaseMs, renewDeadlineMs, retryMs] = [ms("lease-duration"), ms("renew-deadline"), ms("retry-period")];
  if (leaseMs <= renewDeadlineMs) throw new UsageError("leaseDuration must be greater than renewDeadline");
  if (renewDeadlineMs <= retryMs * 1.2)
    throw new UsageError("renewDeadline must be greater than retryPeriod*JitterFactor");
  return {
    lease: { namespace: settings["leader-elect-resource-namespace"], name: settings["leader-elect-resource-name"] },
    identity: `${hostname()}_${systemRandom.uuid()}`,
    leaseMs,
    renewDeadlineMs,
    retryMs,
  };
}
