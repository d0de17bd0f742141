// A host of a test's own: a network namespace in the place of the machine's, so that neither addresses nor routes collide with anything,
// and no packet can leave.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { makeNetwork, removeNetwork } from "#network/host/local-network.ts";
import { type LocalNetwork, type LocalNode, planNetwork } from "#network/local-network.ts";
import { Peer } from "./peer.ts";

/** Why the tests cannot run here, or false. */
export const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make network namespaces"
    : ["/usr/sbin/nft", "/usr/sbin/ip", "/usr/sbin/conntrack"].some((path) => !existsSync(path))
      ? "nftables, iproute2 or conntrack is not installed"
      : false;

export class TestHost implements AsyncDisposable {
  readonly name: string;
  readonly network: LocalNetwork;
  readonly #namespaces: string[];
  readonly #cleanUp = new AsyncDisposableStack();

  private constructor(network: LocalNetwork) {
    this.network = network;
    this.name = `${network.options.cluster}-host`;
    this.#namespaces = [this.name];
  }

  static async make(label: string, nodes: number, egress = false): Promise<TestHost> {
    const host = new TestHost(
      planNetwork({
        cluster: `t${process.pid}${label}`,
        nodeRange: "172.31.0.0/24",
        podRange: "10.244.0.0/16",
        serviceRange: "10.96.0.0/16",
        loadBalancerRange: "172.31.255.0/24",
        nodes: Array.from({ length: nodes }, (_, i) => ({ name: `n${i}`, podRange: `10.244.${i}.0/24` })),
        egress,
      }),
    );
    ip("netns", "add", host.name);
    ip("-n", host.name, "link", "set", "lo", "up");
    // As on any machine, the cable is not the first interface. If it were, both its ends had the same number, and the kernel takes
    // up to a second to tell a bridge that such an interface is up.
    host.ip("link", "add", "first", "type", "bridge");
    // A new namespace has it as the machine does.
    execFileSync("nsenter", [...host.prefix.slice(1), "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward"]);
    return host;
  }

  /** What enters it. */
  get prefix(): readonly string[] {
    return ["nsenter", `--net=/run/netns/${this.name}`];
  }

  up(): Promise<void> {
    return makeNetwork(this.network, { prefix: this.prefix });
  }

  ip(...args: readonly string[]): string {
    return ip("-n", this.name, ...args);
  }

  /** A namespace with a cable to another, as the CNI plugins join a pod to its node; the way out is over that. */
  async pod(name: string, node: LocalNode, address: string): Promise<Peer> {
    const netns = this.#namespace(name);
    const gateway = node.podRange.replace(/0\/24$/, "1");
    ip("link", "add", `veth-${name}`, "netns", node.netns, "type", "veth", "peer", "name", "eth0", "netns", netns);
    ip("-n", node.netns, "address", "add", `${gateway}/32`, "dev", `veth-${name}`);
    ip("-n", node.netns, "link", "set", `veth-${name}`, "up");
    ip("-n", node.netns, "route", "add", address, "dev", `veth-${name}`);
    ip("-n", netns, "address", "add", `${address}/32`, "dev", "eth0");
    ip("-n", netns, "link", "set", "eth0", "up");
    ip("-n", netns, "route", "add", gateway, "dev", "eth0");
    ip("-n", netns, "route", "add", "default", "via", gateway);
    return this.peer(name, netns);
  }

  /** Somebody on a network that the host is in as well: the host has `.1` there, they have `.2`. */
  async outside(name: string, network: string): Promise<Peer> {
    const netns = this.#namespace(name);
    const at = (i: number) => network.replace(/0\/24$/, `${i}/24`);
    ip("link", "add", name, "netns", this.name, "type", "veth", "peer", "name", "eth0", "netns", netns);
    this.ip("address", "add", at(1), "dev", name);
    this.ip("link", "set", name, "up");
    ip("-n", netns, "address", "add", at(2), "dev", "eth0");
    ip("-n", netns, "link", "set", "eth0", "up");
    return this.peer(name, netns);
  }

  async peer(name: string, netns: string): Promise<Peer> {
    return this.#cleanUp.use(await Peer.start(name, `/run/netns/${netns}`));
  }

  #namespace(name: string): string {
    const netns = `${this.network.options.cluster}-${name}`;
    ip("netns", "add", netns);
    this.#namespaces.push(netns);
    ip("-n", netns, "link", "set", "lo", "up");
    return netns;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cleanUp.disposeAsync();
    await removeNetwork(this.network, { prefix: this.prefix });
    for (const netns of this.#namespaces) ip("netns", "delete", netns);
  }
}

export function ip(...args: readonly string[]): string {
  return execFileSync("ip", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
