// What is tried on a cluster of several machines, whichever way they reach each other.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Machines, TestMachine } from "./machines.ts";

export const until = async <T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> => {
  for (const end = performance.now() + 300_000; performance.now() < end; await sleep(200)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`${what} did not come`);
};

/** A cluster on the first of them. */
export class Tour {
  readonly first: TestMachine;
  readonly #machines: Machines;

  private constructor(machines: Machines, first: TestMachine) {
    this.#machines = machines;
    this.first = first;
  }

  static async up(machines: Machines, ...flags: readonly string[]): Promise<Tour> {
    const first = await machines.add("first", 1);
    const where = [`--name=${machines.cluster}`, `--bind-address=${first.address}`];
    await first.does("up", ...where, "--no-install", "--timeout=5m", ...flags);
    return new Tour(machines, first);
  }

  get name(): string {
    return `--name=${this.#machines.cluster}`;
  }

  /** The words that join a machine, after `knarr`. */
  async invitation(): Promise<readonly string[]> {
    const command = await this.first.does("token", "create", "--print-join-command", this.name);
    assert.match(
      command,
      /^knarr join 10\.77\.0\.1:6443 --token [a-z0-9]{6}\.[a-z0-9]{16} --ca-hash sha256:[0-9a-f]{64}$/m,
    );
    return [...command.trim().split(" ").slice(1), this.name, "--no-install", "--timeout=5m"];
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    const { code, said } = await this.first.run(["kubectl", ...args]);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${said}`);
    return said;
  }

  async apply(...objects: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    const { code, said } = await this.first.run(["kubectl", "apply", "-f", "-"], list);
    assert.equal(code, 0, said);
  }

  /** A pod of the page on each of the nodes, and a service of them all. Resolves with the address of each. */
  async pages(nodes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const container = { name: "c", image: "knarr.local/nginx:1.0" };
    const podOn = (node: string) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `page-${node}`, namespace: "default", labels: { app: "page" } },
      spec: { nodeName: node, terminationGracePeriodSeconds: 1, containers: [container] },
    });
    const spec = { selector: { app: "page" }, ports: [{ port: 80 }] };
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "page", namespace: "default" }, spec };
    await this.apply(service, ...nodes.map(podOn));
    const names = nodes.map((node) => `pod/page-${node}`);
    await this.kubectl("wait", "--for=condition=Ready", "--timeout=300s", ...names);
    const addresses = await Promise.all(
      names.map((name) => this.kubectl("get", name, "-o", "jsonpath={.status.podIP}")),
    );
    return new Map(nodes.map((node, i) => [node, addresses[i] ?? ""]));
  }

  /**
   * Asks from the pod of one node; the path is found in the log of whoever answers. Nothing if there is no page: not yet, or because a kubectl
   * before 1.34 that is busy throws away what a WebSocket brings in the moment before it is ready for it.
   */
  async ask(node: string, url: string): Promise<string> {
    const said = await this.kubectl("exec", `page-${node}`, "--", "wget", "-qO-", "-T5", url).catch(() => "");
    return said.includes("served by page-") ? said : "";
  }

  /** All pods reach all others by their own addresses, and the service by its name. */
  async checkPages(addresses: ReadonlyMap<string, string>): Promise<void> {
    for (const [from, source] of addresses)
      for (const [to, address] of addresses) {
        if (from === to) continue;
        const page = await until(`page of ${to} for ${from}`, () => this.ask(from, `http://${address}/?${source}`));
        assert.match(page, new RegExp(`served by page-${to}`));
        const seen = await until("a line of the log", async () =>
          (await this.kubectl("logs", `page-${to}`).catch(() => ""))
            .split("\n")
            .find((line) => line.includes(`/?${source} `)),
        );
        assert.ok(seen.startsWith(`${source} `), `the pod on ${to} sees ${source}: ${seen}`);
      }
    for (const from of addresses.keys())
      assert.match(
        await until(`the service for ${from}`, () => this.ask(from, "http://page.default.svc.cluster.local/")),
        /served by page-/,
      );
  }

  /** All pods read files of others that do not fit into a few packets, and whose packets are as large as their links allow. */
  async checkLargeFiles(addresses: ReadonlyMap<string, string>): Promise<void> {
    const file = "/usr/share/nginx/html/large";
    const sums = new Map<string, string>();
    const sumIn = (node: string, script: string) =>
      until(`a checksum in the pod on ${node}`, async () => {
        const said = await this.kubectl("exec", `page-${node}`, "--", "sh", "-c", script).catch(() => "");
        return /^[0-9a-f]{32}/.exec(said)?.[0];
      });
    for (const node of addresses.keys()) {
      const make = `[ -e ${file} ] || dd if=/dev/urandom of=${file} bs=1M count=4 2> /dev/null`;
      sums.set(node, await sumIn(node, `${make}; md5sum < ${file}`));
    }
    for (const from of addresses.keys())
      for (const [to, address] of addresses)
        if (from !== to)
          assert.equal(
            await sumIn(from, `wget -qO /tmp/large -T20 http://${address}/large && md5sum < /tmp/large`),
            sums.get(to),
            `the file of ${to} as it comes to ${from}`,
          );
  }

  mtuIn(node: string): Promise<string> {
    return until(`the MTU in the pod on ${node}`, async () => {
      const link = await this.kubectl("exec", `page-${node}`, "--", "ip", "link", "show", "eth0").catch(() => "");
      return / mtu (\d+) /.exec(link)?.[1];
    });
  }
}
