// A node as ipvs mode sees it: its device for the addresses of services, its sets, its virtual servers, and the programs that change them.
// Upstream: pkg/proxy/ipvs/netlink_linux.go, pkg/proxy/ipvs/proxier.go.
import { UsageError } from "#base/errors.ts";
import { parseJson } from "#schema/json.ts";
import type { IpvsOptions, RunOnNode } from "../../proxy-mode.ts";
import type { IpvsSteps } from "./ipvs-table.ts";
import { readBusy, readServers } from "./kernel-servers.ts";
import type { VirtualServer } from "./service-parts.ts";

/** Under this name people and other programs know the device. */
const device = "kube-ipvs0";

export interface NodeAddresses {
  readonly hasDevice: boolean;
  /** Those of the device. */
  readonly own: readonly string[];
  /** Those that the node has by itself, in order; without loopback and link-local ones. */
  readonly others: readonly string[];
}

export class IpvsNode {
  readonly #run: RunOnNode;
  readonly #options: IpvsOptions;

  constructor(run: RunOnNode, options: IpvsOptions) {
    this.#run = run;
    this.#options = options;
  }

  /** Rejects with what is missing on the node, and how to get it. */
  async check(signal: AbortSignal): Promise<void> {
    const { scheduler = "rr" } = this.#options;
    const can = (command: string) => this.#can(["sh", "-c", command], signal);
    // On a kernel with modules, this loads them; on others the next check decides.
    await can(`modprobe -a ip_vs ip_vs_${scheduler}`);
    if (!(await can("test -e /proc/net/ip_vs")))
      throw new UsageError(
        `proxy mode ipvs needs the kernel modules ip_vs and ip_vs_${scheduler}, which are not there: load them with "modprobe -a ip_vs ip_vs_${scheduler}", use a kernel that has them (CONFIG_IP_VS), or choose another proxy mode, such as nftables`,
      );
    for (const program of ["ipvsadm", "ipset"])
      if (!(await can(`command -v ${program}`)))
        throw new UsageError(
          `proxy mode ipvs needs ${program}, which is not installed: install the package ${program}, or choose another proxy mode, such as nftables`,
        );
    if (!(await can("ipset list -name")))
      throw new UsageError(
        'proxy mode ipvs needs the kernel module ip_set, which is not there: load it with "modprobe ip_set", or choose another proxy mode, such as nftables',
      );
  }

  /** Kernel settings that hold for all services. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { strictArp = false, tcpSeconds = 0, tcpFinSeconds = 0, udpSeconds = 0 } = this.#options;
    const values: readonly (readonly [path: string, value: number])[] = [
      ["vs/conntrack", 1], // iptables sees connections of virtual servers, and so replaces their senders
      ["vs/expire_nodest_conn", 1],
      ["vs/expire_quiescent_template", 1], // affinity does not hold a sender at an endpoint that gets no new connections
      ["ip_forward", 1],
      // Neighbours are not told that the node has the addresses of services.
      ...(strictArp ? ([["conf/all/arp_ignore", 1] as const, ["conf/all/arp_announce", 2] as const] as const) : []),
    ];
    for (const [path, value] of values)
      await this.#run(["tee", `/proc/sys/net/ipv4/${path}`], { input: String(value), signal });
    const timeouts = [tcpSeconds, tcpFinSeconds, udpSeconds];
    if (timeouts.some((seconds) => seconds > 0)) await this.#ipvsadm(["--set", ...timeouts.map(String)], signal);
  }

  async addresses(signal: AbortSignal): Promise<NodeAddresses> {
    const text = await this.#run(["ip", "-json", "address", "show"], { signal });
    const links = parseJson(text || "[]").value as readonly LinkInfo[]; // as iproute2 has it
    const isDevice = ({ ifname }: LinkInfo) => ifname === device;
    const addressesOf = (chosen: readonly LinkInfo[]) =>
      chosen.flatMap(({ addr_info = [] }) => addr_info).filter(({ scope }) => scope !== "host" && scope !== "link");
    const locals = (chosen: readonly LinkInfo[]) => addressesOf(chosen).flatMap(({ local }) => local ?? []);
    return {
      hasDevice: links.some(isDevice),
      own: locals(links.filter(isDevice)),
      others: [...new Set(locals(links.filter((link) => !isDevice(link))))].sort(),
    };
  }

  async addDevice(signal: AbortSignal): Promise<void> {
    await this.#run(["ip", "link", "add", device, "type", "dummy"], { signal });
  }

  savedSets(signal: AbortSignal): Promise<string> {
    return this.#run(["ipset", "save"], { signal });
  }

  async servers(signal: AbortSignal): Promise<ReadonlyMap<string, VirtualServer>> {
    return readServers(await this.#run(["ipvsadm", "--save", "--numeric"], { signal }));
  }

  async busyDestinations(signal: AbortSignal): Promise<ReadonlySet<string>> {
    return readBusy(await this.#run(["ipvsadm", "--list", "--numeric"], { signal }));
  }

  async apply({ sets, bind, servers, unbind }: IpvsSteps, signal: AbortSignal): Promise<void> {
    await this.changeSets(sets, signal);
    await this.changeServers(servers, signal);
    await this.#changeAddresses("add", bind, signal);
    await this.#changeAddresses("delete", unbind, signal);
  }

  async changeSets(text: string, signal: AbortSignal): Promise<void> {
    if (text !== "") await this.#run(["ipset", "restore", "-exist"], { input: text, signal });
  }

  async changeServers(text: string, signal: AbortSignal): Promise<void> {
    if (text !== "") await this.#ipvsadm(["--restore"], signal, text);
  }

  /** Removes virtual servers but those that are kept, these sets, and the device. */
  async removeAll(sets: readonly string[], isKept: (server: string) => boolean, signal: AbortSignal): Promise<void> {
    if (await this.#can(["ipvsadm", "--list", "--numeric"], signal)) {
      const gone = [...(await this.servers(signal)).keys()].filter((server) => !isKept(server));
      await this.changeServers(gone.map((server) => `-D ${server}\n`).join(""), signal);
    }
    if (await this.#can(["ipset", "list", "-name"], signal)) {
      const present = new Set((await this.#run(["ipset", "list", "-name"], { signal })).split("\n"));
      const gone = sets.filter((set) => present.has(set));
      await this.changeSets(gone.map((set) => `destroy ${set}\n`).join(""), signal);
    }
    await this.#run(["ip", "link", "delete", device], { signal });
  }

  async #changeAddresses(verb: "add" | "delete", addresses: readonly string[], signal: AbortSignal): Promise<void> {
    if (addresses.length === 0) return;
    const lines = addresses.map((address) => {
      const isIpv6 = address.includes(":");
      const rest = verb === "add" && isIpv6 ? " nodad" : "";
      return `address ${verb} ${address}/${isIpv6 ? 128 : 32} dev ${device}${rest}\n`;
    });
    await this.#run(["ip", "-batch", "-"], { input: lines.join(""), signal });
  }

  /** ipvsadm goes on after a line that fails, and ends as if all were well: only what it says tells. */
  async #ipvsadm(args: readonly string[], signal: AbortSignal, input = ""): Promise<void> {
    const output = await this.#run(["sh", "-c", 'exec ipvsadm "$@" 2>&1', "ipvsadm", ...args], { input, signal });
    if (output.trim() !== "") throw new Error(`ipvsadm ${args.join(" ")}: ${output.trim()}`);
  }

  async #can(command: readonly string[], signal: AbortSignal): Promise<boolean> {
    try {
      await this.#run(command, { signal });
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

interface LinkInfo {
  readonly ifname: string;
  readonly addr_info?: readonly { readonly local?: string; readonly scope?: string }[];
}
