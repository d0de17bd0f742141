// Runs controllers: informers shared among them, a queue for each, and all that their authors would otherwise forget.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Client } from "./client.ts";
import type { Controller } from "./controller.ts";
import { ControllerRun } from "./controller-run.ts";
import { EventRecorder } from "./events.ts";
import { Informers } from "./informers.ts";
import type { Metrics } from "./metrics.ts";

export interface ControllersOptions {
  /** Lists, watches and reports for all of them. */
  readonly client: Client;
  /** Under which identity a controller writes; defaults to that of `client`. */
  readonly clientFor?: (controller: string) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Shared with others of the process; defaults to own ones. */
  readonly informers?: Informers;
  /** Which instance reports: the `source.host` of events. */
  readonly host?: string;
}

export interface RunningControllers extends Component {
  /** Whether all caches are filled: for a readiness check. */
  readonly hasSynced: boolean;
}

/** The controllers as one component; it runs its informers and its event recorder, too. */
export function runControllers(
  controllers: readonly Controller<AnyKind>[],
  options: ControllersOptions,
): RunningControllers {
  const informers = options.informers ?? new Informers(options);
  const recorder = new EventRecorder({ ...options, kinds: controllers.map((controller) => controller.for) });
  return {
    name: "controllers",
    get hasSynced() {
      return informers.hasSynced;
    },
    run: (signal) =>
      supervise(
        [
          ...(options.informers ? [] : [informers]),
          recorder,
          ...controllers.map((controller) => new ControllerRun(controller, informers, recorder, options)),
        ],
        signal,
      ),
  };
}
