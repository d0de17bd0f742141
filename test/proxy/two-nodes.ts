// A small cluster network in namespaces that no packet can leave: a node with two pods and a proxy, another node with one pod, and a
// client outside of the cluster. None of them has a default route.
//
//   pod 10.244.1.11 ─┐
//   pod 10.244.1.12 ─┴─ node 192.168.77.1 ── 192.168.77.0/24 ─┬─ other node 192.168.77.2, pod 10.244.2.11
//                                                              └─ client 192.168.77.100
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Question } from "./answerer.ts";

export const addresses = {
  pod: "10.244.1.11",
  "second pod": "10.244.1.12",
  "remote pod": "10.244.2.11",
  node: "192.168.77.1",
  client: "192.168.77.100",
} as const;
export type Place = keyof typeof addresses;

const serviceRanges = ["10.96.0.0/16", "172.31.0.0/16"];
let made = 0;

export class TwoNodes implements AsyncDisposable {
  readonly #prefix = `knarr-modes-${process.pid}-${made++}`;
  readonly #speakers = new Map<Place, Speaker>();

  static async make(): Promise<TwoNodes> {
    const network = new TwoNodes();
    try {
      network.#build();
      await network.#speak();
      return network;
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The namespace of the node that the proxy is on. */
  get node(): string {
    return this.#namespaceOf("node");
  }

  #namespaceOf(place: Place): string {
    return `${this.#prefix}-${place.replace(" ", "-")}`;
  }

  #build(): void {
    for (const place of Object.keys(addresses) as Place[]) {
      execFileSync("ip", ["netns", "add", this.#namespaceOf(place)]);
      this.#ip(place, "link", "set", "lo", "up");
    }
    this.#sysctl("node", "net/ipv4/ip_forward", "1");
    for (const where of ["all", "default"]) {
      this.#sysctl("node", `net/ipv4/conf/${where}/rp_filter`, "0");
      this.#sysctl("node", `net/ipv4/conf/${where}/send_redirects`, "0");
    }
    // Refusals are packets of ICMP, of which a host sends few to each other one.
    this.#sysctl("node", "net/ipv4/icmp_ratelimit", "0");
    this.#ip("node", "link", "add", "br0", "type", "bridge");
    this.#ip("node", "address", "add", `${addresses.node}/24`, "dev", "br0");
    this.#ip("node", "link", "set", "br0", "up");
    // Packets must have a way on before they are translated.
    for (const range of serviceRanges) this.#ip("node", "route", "add", range, "dev", "br0");
    for (const place of ["pod", "second pod"] as const) this.#joinPod(place);
    this.#joinSwitch("remote pod", "192.168.77.2/24");
    this.#ip("remote pod", "address", "add", `${addresses["remote pod"]}/32`, "dev", "lo");
    for (const range of ["10.244.1.0/24", ...serviceRanges])
      this.#ip("remote pod", "route", "add", range, "via", addresses.node, "src", addresses["remote pod"]);
    this.#ip("node", "route", "add", "10.244.2.0/24", "via", "192.168.77.2");
    this.#joinSwitch("client", `${addresses.client}/24`);
    for (const range of ["10.244.0.0/16", ...serviceRanges])
      this.#ip("client", "route", "add", range, "via", addresses.node);
  }

  #joinPod(place: "pod" | "second pod"): void {
    const gateway = "169.254.1.1";
    const device = `v-${place.replace(" ", "-")}`;
    this.#link(place, device);
    this.#ip("node", "address", "add", `${gateway}/32`, "dev", device);
    this.#ip("node", "route", "add", `${addresses[place]}/32`, "dev", device);
    this.#ip(place, "address", "add", `${addresses[place]}/32`, "dev", "eth0");
    this.#ip(place, "route", "add", gateway, "dev", "eth0", "scope", "link");
    for (const range of ["10.244.0.0/16", "192.168.77.0/24", ...serviceRanges])
      this.#ip(place, "route", "add", range, "via", gateway);
  }

  #joinSwitch(place: "remote pod" | "client", address: string): void {
    const device = `v-${place.replace(" ", "-")}`;
    this.#link(place, device);
    this.#ip("node", "link", "set", device, "master", "br0");
    this.#ip(place, "address", "add", address, "dev", "eth0");
  }

  #link(place: Place, device: string): void {
    const peer = ["peer", "name", "eth0", "netns", this.#namespaceOf(place)];
    this.#ip("node", "link", "add", device, "type", "veth", ...peer);
    this.#ip("node", "link", "set", device, "up");
    this.#ip(place, "link", "set", "eth0", "up");
  }

  #ip(place: Place, ...args: readonly string[]): void {
    execFileSync("ip", ["-n", this.#namespaceOf(place), ...args]);
  }

  #sysctl(place: Place, name: string, value: string): void {
    this.run(place, ["tee", `/proc/sys/${name}`], value);
  }

  async #speak(): Promise<void> {
    for (const place of Object.keys(addresses) as Place[]) {
      const answers = place === "node" || place === "client" ? [] : [addresses[place]];
      this.#speakers.set(place, new Speaker(this.#namespaceOf(place), answers));
    }
    await Promise.all([...this.#speakers.values()].map((speaker) => speaker.ready));
  }

  ask(from: Place, question: Omit<Question, "id">): Promise<string> {
    const speaker = this.#speakers.get(from);
    if (!speaker) throw new Error(`nobody is at ${from}`);
    return speaker.ask(question);
  }

  /** Runs a program at a place, and returns its output. */
  run(place: Place, command: readonly string[], input = ""): string {
    return execFileSync("ip", ["netns", "exec", this.#namespaceOf(place), ...command], {
      encoding: "utf8",
      input,
      stdio: "pipe", // nft warns of tables that iptables made
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#speakers.values()].map((speaker) => speaker.end()));
    const present = execFileSync("ip", ["netns", "list"], { encoding: "utf8" });
    for (const place of Object.keys(addresses) as Place[]) {
      const name = this.#namespaceOf(place);
      if (new RegExp(`^${name}\\b`, "m").test(present)) execFileSync("ip", ["netns", "del", name]);
    }
  }
}

/** A process inside a namespace, which answers and asks. */
class Speaker {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: string) => void>();
  #next = 0;
  readonly ready: Promise<unknown>;

  constructor(namespace: string, answers: readonly string[]) {
    const program = fileURLToPath(new URL("./answerer.ts", import.meta.url));
    this.#child = spawn("ip", ["netns", "exec", namespace, process.execPath, program, ...answers], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.ready = once(this.#child, "message");
    this.#child.on("message", ({ id, answer }: { id: number; answer: string }) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  ask(question: Omit<Question, "id">): Promise<string> {
    const id = this.#next++;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.set(id, resolve);
    this.#child.send({ id, ...question });
    return promise;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.pid === undefined) return;
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }
}
