// A node as the proxy sees it: a network namespace of its own, without any way out, in which addresses answer with their name.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { programPath } from "#base/host/run-program.ts";

/** Why the tests cannot run here, or false. */
export const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make network namespaces"
    : ["/usr/sbin/nft", "/usr/sbin/ip", "/usr/sbin/conntrack", "/usr/sbin/iptables"].find(
          (path) => !existsSync(path),
        ) !== undefined
      ? "nftables, iptables, iproute2 or conntrack is not installed"
      : false;

/** Why ipvs mode cannot run here, or false. */
export const ipvsImpossible: string | false =
  impossible ||
  (!existsSync("/proc/net/ip_vs")
    ? "the kernel has no ip_vs (modprobe ip_vs, or a kernel with CONFIG_IP_VS)"
    : programPath(process.env.PATH)
          .split(delimiter)
          .some((folder) => existsSync(join(folder, "ipvsadm")) && existsSync(join(folder, "ipset")))
      ? false
      : "ipvsadm or ipset is not installed");

export type Answer = string;

export class TestNode implements AsyncDisposable {
  readonly name: string;
  readonly #helper: ChildProcess;
  #next = 0;
  readonly #waiting = new Map<number, (answer: Answer) => void>();

  private constructor(name: string, helper: ChildProcess) {
    this.name = name;
    this.#helper = helper;
    helper.on("message", ({ id, answer }: { id: number; answer: Answer }) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  /** `addresses` answer on port 8080 with their own name, over TCP and UDP. */
  static async make(addresses: readonly string[]): Promise<TestNode> {
    const name = `knarr-test-${process.pid}-${made++}`;
    execFileSync("ip", ["netns", "add", name]);
    try {
      const inside = (...args: string[]) => execFileSync("ip", ["-n", name, ...args]);
      inside("link", "set", "lo", "up");
      for (const address of addresses) inside("address", "add", address, "dev", "lo");
      // Service addresses are nobody's: packets must have a way on before they are translated.
      for (const range of ["10.96.0.0/16", "172.31.0.0/16"]) inside("route", "add", range, "dev", "lo");
      inside("-6", "route", "add", "fd00:96::/64", "dev", "lo");
      const helper = spawn(
        "ip",
        [
          "netns",
          "exec",
          name,
          process.execPath,
          fileURLToPath(new URL("./answerer.ts", import.meta.url)),
          ...addresses,
        ],
        { stdio: ["ignore", "inherit", "inherit", "ipc"] },
      );
      const node = new TestNode(name, helper);
      await once(helper, "message");
      return node;
    } catch (error) {
      execFileSync("ip", ["netns", "del", name]);
      throw error;
    }
  }

  /** Connects, and tells who answered, or the code of the error; `timeout` if nobody did. */
  ask(
    to: string,
    port: number,
    options: { readonly from?: string; readonly protocol?: "tcp" | "udp" } = {},
  ): Promise<Answer> {
    const id = this.#next++;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting.set(id, resolve);
    this.#helper.send({ id, to, port, ...options });
    return promise;
  }

  async askOften(count: number, to: string, port: number): Promise<Record<Answer, number>> {
    const counts: Record<Answer, number> = {};
    for (let i = 0; i < count; i++) {
      const answer = await this.ask(to, port);
      counts[answer] = (counts[answer] ?? 0) + 1;
    }
    return counts;
  }

  nft(...args: readonly string[]): string {
    return execFileSync("ip", ["netns", "exec", this.name, "nft", ...args], { encoding: "utf8" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#helper, "exit");
    this.#helper.kill();
    await ended;
    execFileSync("ip", ["netns", "del", this.name]);
  }
}

let made = 0;
