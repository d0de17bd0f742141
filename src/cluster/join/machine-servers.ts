// The API servers that a joined machine can ask: those that the `kubernetes` service leads to, and the one that it joined by.
import { readFileSync } from "node:fs";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { aborted } from "#base/aborted.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { ServerChoice } from "#client/host/server-choice.ts";
import type { Informers } from "#client/informers.ts";
import { parseJson } from "#schema/json.ts";
import { replaceFile } from "../certificates.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { joinedMachine, kubeconfigOf, type MachineMembership, writeMachine } from "./machine-folder.ts";

export interface MachineServersOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends connections to the server of before. */
  readonly drop: () => void;
}

export function machineServers(
  place: ClusterFolder,
  { server, servers = [server], ca }: MachineMembership,
  { clock, log, drop }: MachineServersOptions,
): ServerChoice {
  const onChange = (now: string) => {
    drop();
    nameServer(kubeconfigOf(place), now);
  };
  return new ServerChoice({ servers, ca, clock, log: log.with({ component: "server choice" }), onChange });
}

/** For those who use the kubeconfig of the node from outside of its process. */
export function nameServer(path: string, server: string): void {
  const config = parseJson(readFileSync(path, "utf8")).value as {
    readonly clusters: readonly { readonly cluster: object }[];
  }; // we wrote it
  const clusters = config.clusters.map((entry) => ({ ...entry, cluster: { ...entry.cluster, server } }));
  replaceFile(path, `${JSON.stringify({ ...config, clusters }, undefined, 2)}\n`, 0o600);
}

interface FollowerParts {
  readonly place: ClusterFolder;
  readonly machine: MachineMembership;
  readonly informers: Informers;
}

/** Learns of servers that come and go, and remembers them for the next start. */
export function serversFollower(choice: ServerChoice, { place, machine, informers }: FollowerParts): Component {
  const slices = informers.of(EndpointSlice);
  const look = () => {
    const found = serversIn(slices.cache.get("default/kubernetes"));
    if (found.length === 0) return;
    const servers = [...new Set([choice.current, machine.server, ...found])];
    if (servers.toSorted().join() === choice.servers.toSorted().join()) return;
    choice.update(servers);
    const stored = joinedMachine(place);
    if (stored) writeMachine(place, { ...stored, servers });
  };
  return {
    name: "API servers",
    async run(signal) {
      const unsubscribe = slices.onChange(look);
      look();
      await aborted(signal);
      unsubscribe();
    },
  };
}

/** The API servers that the `kubernetes` service leads to. */
export function serversIn(slice: EndpointSlice | undefined): readonly string[] {
  const port = slice?.ports?.find(({ name }) => name === "https")?.port;
  if (port === undefined) return [];
  const addresses = slice?.endpoints?.flatMap((endpoint) => endpoint.addresses ?? []) ?? [];
  return addresses.map((address) => `https://${address.includes(":") ? `[${address}]` : address}:${port}`);
}
