// Controllers that have to be where the nodes are: what they give is of this machine.
import type { Component } from "#base/supervise.ts";
import { type ControllersOptions, runControllers } from "#client/run-controllers.ts";
import type { NodeStorage } from "#controllers/local-storage/node-storage.ts";
import { serviceLbController } from "#controllers/service-lb/service-lb.ts";
import * as identities from "../identities.ts";
import { localStorage, localStorageAccount } from "../local-storage.ts";
import type { IdentityClients } from "./identity-clients.ts";

export interface NodeControllersOptions extends Omit<ControllersOptions, "client" | "clientFor"> {
  readonly clients: IdentityClients;
  readonly loadBalancerAddresses: readonly string[];
  readonly storage: NodeStorage | undefined;
}

export function nodeControllers({ clients, storage, ...options }: NodeControllersOptions): readonly Component[] {
  const as = (account: string) => ({
    ...options,
    client: clients.clientFor(identities.serviceAccount(account), account),
  });
  return [
    runControllers([serviceLbController(options.loadBalancerAddresses)], as("service-controller")),
    ...(storage ? [localStorage(storage, as(localStorageAccount))] : []),
  ];
}
