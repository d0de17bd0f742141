// Virtual servers as ipvsadm prints them.
// Upstream: pkg/proxy/ipvs/util/ipvs_linux.go.
import type { VirtualServer } from "./service-parts.ts";

/** All virtual servers, from the text of `ipvsadm --save --numeric`. */
export function readServers(text: string): ReadonlyMap<string, VirtualServer> {
  const servers = new Map<string, { options: string; destinations: Map<string, number> }>();
  for (const line of text.split("\n")) {
    const [, verb, server = "", rest = ""] = /^(-A|-a) ((?:-t|-u|--sctp-service) \S+) (.*)$/.exec(line.trim()) ?? [];
    if (verb === "-A") servers.set(server, { options: rest, destinations: new Map() });
    const [, destination, weight] = /^-r (\S+) .*-w (\d+)/.exec(rest) ?? [];
    if (verb === "-a" && destination !== undefined) servers.get(server)?.destinations.set(destination, Number(weight));
  }
  return servers;
}

/** The family and the address of a virtual server. */
export const addressOf = (server: string): string =>
  (/ \[(.*)\]:\d+$/.exec(server) ?? / (.*):\d+$/.exec(server))?.[1] ?? "";

const words: Readonly<Record<string, string>> = { TCP: "-t", UDP: "-u", SCTP: "--sctp-service" };

/** Servers and destinations that have connections, from the text of `ipvsadm --list --numeric`. */
export function readBusy(text: string): ReadonlySet<string> {
  const busy = new Set<string>();
  let server = "";
  for (const line of text.split("\n")) {
    const parts = line.trim().split(/\s+/);
    const [first = "", place = ""] = parts;
    if (words[first] !== undefined) server = `${words[first]} ${place}`;
    else if (first === "->" && parts.length >= 6 && Number(parts[4]) + Number(parts[5]) > 0)
      busy.add(`${server} ${place}`);
  }
  return busy;
}
