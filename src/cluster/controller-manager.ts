// All controllers as one component: those of the list, and the three that are components of their own.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { EventRecorder } from "#client/events.ts";
import type { Informers } from "#client/informers.ts";
import type { Metrics } from "#client/metrics.ts";
import { runControllers } from "#client/run-controllers.ts";
import { GarbageCollector } from "#controllers/garbage/collector.ts";
import { type ControllerSettings, controllers } from "#controllers/list.ts";
import { PodGarbageCollector } from "#controllers/pod-garbage/collector.ts";
import { ResourceQuotaController } from "#controllers/resourcequota/controller.ts";
import { knownControllers } from "./controller-switches.ts";

export interface ControllerManagerOptions {
  /** Lists, watches and reports, as the controller manager. */
  readonly client: Client;
  /** A client that acts as an account of kube-system. */
  readonly clientFor: (serviceAccount: string) => Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly settings: ControllerManagerSettings;
}

export interface ControllerManagerSettings extends ControllerSettings {
  /** How many pods that have ended are kept; 0 for all. */
  readonly terminatedPodThreshold: number;
  /** Which controllers run, by name; defaults to all. */
  readonly isOn?: (name: string) => boolean;
  /** The number of workers by controller, where it differs from the controller's own. */
  readonly workers?: (name: string) => number | undefined;
}

const garbageCollector = "garbage-collector-controller";
const podGarbageCollector = "pod-garbage-collector-controller";
const resourceQuota = "resourcequota-controller";

export function controllerManager(options: ControllerManagerOptions): Component {
  const { clientFor, settings } = options;
  const { isOn = () => true, workers = () => undefined, terminatedPodThreshold } = settings;
  const listed = controllers(settings).filter(({ name }) => isOn(name));
  const accounts = new Map(listed.map(({ controller, serviceAccount }) => [controller.name, serviceAccount]));
  const running = runControllers(
    listed.map(({ name, controller }) => ({ ...controller, workers: workers(name) ?? controller.workers ?? 5 })),
    {
      ...options,
      clientFor(name) {
        const account = accounts.get(name);
        return account === undefined ? options.client : clientFor(account);
      },
    },
  );
  const collector = clientFor("generic-garbage-collector");
  const recorder = new EventRecorder({ ...options, client: collector });
  const others: readonly (readonly [string, () => readonly Component[]])[] = [
    [
      garbageCollector,
      () => [
        recorder,
        new GarbageCollector({ ...options, client: collector, recorder, discovery: settings.discovery }),
      ],
    ],
    [
      podGarbageCollector,
      () => [
        new PodGarbageCollector({ ...options, client: clientFor("pod-garbage-collector"), terminatedPodThreshold }),
      ],
    ],
    [
      resourceQuota,
      () => [
        new ResourceQuotaController({ ...options, client: clientFor(resourceQuota), discovery: settings.discovery }),
      ],
    ],
  ];
  if (settings.isOn) {
    const present = new Set([...controllers(settings).map(({ name }) => name), ...others.map(([name]) => name)]);
    const lacking = knownControllers.filter((name) => isOn(name) && !present.has(name));
    if (lacking.length > 0) options.log.info("some controllers of upstream are not there", { controllers: lacking });
  }
  const parts = [running, ...others.flatMap(([name, make]) => (isOn(name) ? make() : []))];
  return { name: "controller-manager", run: (signal) => supervise(parts, signal) };
}
