// The parts of a control plane of which one at a time may work: the controllers and the scheduler. Alone they work at once; where others share
// the store, each of the two works while its lease is held here.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import { Client, type Transport } from "#client/client.ts";
import { fenced } from "#client/election.ts";
import { Informers } from "#client/informers.ts";
import type { Metrics } from "#client/metrics.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import type { User } from "#wire/api-request.ts";
import { type ControllerManagerSettings, controllerManager } from "./controller-manager.ts";
import { electedPart } from "./elected-part.ts";
import * as identities from "./identities.ts";
import { kubernetesVersion } from "./version.ts";

interface PartContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface LeadingPartsOptions {
  readonly partOf: (component: string) => PartContext;
  readonly transport: Transport;
  readonly settings: ControllerManagerSettings;
  /** Of the process, for parts that need not be elected. */
  readonly informers: Informers;
  readonly candidate: string | undefined;
}

export interface LeadingParts {
  readonly components: readonly Component[];
  /** The one of this process, while it works here. */
  readonly scheduler: Scheduler | undefined;
}

const [manager, scheduling] = ["kube-controller-manager", "kube-scheduler"] as const;

/** Clients of any user, in this process. */
export function clientsOver(transport: Transport): (user: User, part: string) => Client {
  const { signal } = new AbortController();
  return (user, part) => new Client({ transport, user, userAgent: `${part}/${kubernetesVersion}`, signal });
}

export function leadingParts({ partOf, transport, settings, ...options }: LeadingPartsOptions): LeadingParts {
  const controllersOver = (over: Transport, informers: Informers) => {
    const clientFor = clientsOver(over);
    return controllerManager({
      ...partOf("controller-manager"),
      client: clientFor(identities.userOf(identities.controllerManager), manager),
      clientFor: (account) => clientFor(identities.serviceAccount(account), manager),
      informers,
      settings,
    });
  };
  const schedulerOver = (over: Transport, informers: Informers) =>
    new Scheduler({
      ...partOf("scheduler"),
      client: clientsOver(over)(identities.userOf(identities.scheduler), scheduling),
      informers,
    });
  const { candidate } = options;
  if (candidate === undefined) {
    const scheduler = schedulerOver(transport, options.informers);
    return { components: [controllersOver(transport, options.informers), scheduler], scheduler };
  }
  let scheduler: Scheduler | undefined;
  const electedAs = (
    name: string,
    part: { readonly component: string; readonly identity: identities.CertificateIdentity },
    make: (over: Transport, informers: Informers) => Component,
  ) => {
    const context = partOf(part.component);
    const client = clientsOver(transport)(identities.userOf(part.identity), name);
    return electedPart({
      ...context,
      name,
      identity: candidate,
      client,
      make(mayWrite) {
        const informers = new Informers({ ...context, client });
        return [informers, make(fenced(transport, mayWrite), informers)];
      },
    });
  };
  return {
    components: [
      electedAs(manager, { component: "controller-manager", identity: identities.controllerManager }, controllersOver),
      electedAs(scheduling, { component: "scheduler", identity: identities.scheduler }, (over, informers) => {
        scheduler = schedulerOver(over, informers);
        return scheduler;
      }),
    ],
    get scheduler() {
      return scheduler;
    },
  };
}
