// What the host has that a cluster's network could collide with, by the programs ip and nft.
import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { ProgramFailed, runProgram } from "#base/host/run-program.ts";
import { parseJson } from "#schema/json.ts";
import type { HostNamespace, HostState } from "../conflicts.ts";
import { type LocalNetwork, toMachines } from "../local-network.ts";

const namespaceFolder = "/run/netns";
const nsfs = 0x6e736673;

/** `namespaces` are those to look into, as a plan names them; `prefix` enters the host, where that is not this one. */
export async function readHostState(namespaces: readonly string[], prefix: readonly string[] = []): Promise<HostState> {
  const [links, routes, chains, inside] = await Promise.all([
    linksIn([...prefix, "ip"]),
    run<readonly IpRoute[]>([...prefix, "ip", "-j", "route", "show", "table", "all"]),
    chainsIn(prefix),
    Promise.all(namespaces.filter((name) => namespaceNames().includes(name)).map(lookInto)),
  ]);
  // The routes to joined machines are ours; they are there still when the cluster's process was killed.
  const ways = routes.filter(
    ({ type = "unicast", protocol }) => !ownTypes.has(type) && `proto ${protocol}` !== toMachines,
  );
  return {
    links,
    routes: ways.map(({ dst, dev, nexthops = [] }) => ({
      to: dst,
      links: [...(dev === undefined ? [] : [dev]), ...nexthops.flatMap((hop) => hop.dev ?? [])],
    })),
    namespaces: inside,
    nameServers: nameServers(),
    forwardDrops: chains
      .filter(({ hook, policy }) => hook === "forward" && policy === "drop")
      .map(({ family, table, name }) => ({ table: `${family} ${table}`, chain: name })),
    doesForward: readFileSync("/proc/sys/net/ipv4/ip_forward", "latin1").startsWith("1"),
    doesForwardIpv6: doesForwardIpv6(),
  };
}

export function doesForwardIpv6(): boolean {
  try {
    return readFileSync("/proc/sys/net/ipv6/conf/all/forwarding", "latin1").startsWith("1");
  } catch {
    return false; // a kernel without IPv6 has no such file
  }
}

/** What a plan's network needs to know of the host. */
export const namespacesOf = (network: LocalNetwork): readonly string[] => [
  network.switch,
  ...network.nodes.map(({ netns }) => netns),
];

/** Kept by the kernel for each address; the addresses themselves are looked at. */
const ownTypes: ReadonlySet<string> = new Set(["local", "broadcast", "multicast", "anycast"]);

interface IpRoute {
  readonly type?: string;
  readonly protocol?: string;
  readonly dst: string;
  readonly dev?: string;
  readonly nexthops?: readonly { readonly dev?: string }[];
}

interface IpLink {
  readonly ifname: string;
  readonly linkinfo?: { readonly info_kind?: string };
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number }[];
}

interface NftChain {
  readonly family: string;
  readonly table: string;
  readonly name: string;
  readonly hook?: string;
  readonly policy?: string;
}

async function linksIn(ip: readonly string[]): Promise<HostState["links"]> {
  const links = await run<readonly IpLink[]>([...ip, "-d", "-j", "address"]);
  // Programs of some versions write an empty object for each link that has none of the asked addresses.
  return links
    .filter(({ ifname }) => ifname !== undefined)
    .map(({ ifname, linkinfo, addr_info = [] }) => ({
      name: ifname,
      ...(linkinfo?.info_kind !== undefined && { kind: linkinfo.info_kind }),
      addresses: addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen}`),
    }));
}

/** None where there is no nft: then nothing of it drops anything. */
async function chainsIn(prefix: readonly string[]): Promise<readonly NftChain[]> {
  try {
    const { nftables } = await run<{ readonly nftables: readonly { readonly chain?: NftChain }[] }>([
      ...prefix,
      "nft",
      "-j",
      "list",
      "chains",
    ]);
    return nftables.flatMap(({ chain }) => chain ?? []);
  } catch (error) {
    if (error instanceof ProgramFailed || isMissing(error)) return [];
    throw error;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && "code" in error.cause && error.cause.code === "ENOENT";

async function lookInto(name: string): Promise<HostNamespace> {
  const isWhole = statfsSync(join(namespaceFolder, name)).type === nsfs;
  return { name, isWhole, links: isWhole ? await linksIn(["ip", "-n", name]) : [] };
}

function namespaceNames(): readonly string[] {
  try {
    return readdirSync(namespaceFolder);
  } catch {
    return []; // none was ever made
  }
}

function nameServers(): readonly string[] {
  try {
    return [...readFileSync("/etc/resolv.conf", "utf8").matchAll(/^nameserver\s+([\d.]+|[\da-f:.]+)\s*$/gim)].flatMap(
      ([, address]) => address ?? [],
    );
  } catch {
    return []; // the machine has no resolver
  }
}

const run = async <T>(command: readonly string[]): Promise<T> =>
  parseJson((await runProgram(command)) || "[]").value as T;
