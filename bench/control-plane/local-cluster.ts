// A cluster as a person starts it, with a home of its own, and what its processes use.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import type { Client } from "#client/client.ts";
import { type Connection, connectClient } from "#client/host/connect.ts";
import { parseJson } from "#schema/json.ts";

const launcher = fileURLToPath(new URL("../../knarr", import.meta.url));
const ticksPerSecond = 100;
const lookMs = 5;

export class LocalCluster {
  readonly #home = mkdtempSync(join(tmpdir(), "knarr-bench-"));
  /** Others may run clusters of other names on the same machine. */
  readonly #name = `bench-${process.pid}`;
  readonly #flags: readonly string[];
  #stop = new AbortController();
  #connection: Connection | undefined;
  #pid = 0;
  /** From the command line to its end: the cluster is ready. */
  startMs = 0;

  constructor(...flags: readonly string[]) {
    this.#flags = flags;
  }

  /** One with simulated nodes, ready. */
  static async up(...flags: readonly string[]): Promise<LocalCluster> {
    const cluster = new LocalCluster("--runtime=simulated", ...flags);
    try {
      await cluster.start();
      return cluster;
    } catch (error) {
      await cluster.down();
      throw error;
    }
  }

  async start(): Promise<void> {
    const begun = performance.now();
    await this.knarr("up", "--port=0", ...this.#flags);
    this.startMs = performance.now() - begun;
    const status = parseJson(await this.knarr("status", "--output=json")).value as { readonly pid: number };
    this.#pid = status.pid;
  }

  async client(): Promise<Client> {
    return (await this.connect()).client;
  }

  /** May be called while it starts: waits until it can be connected to. */
  async connect(): Promise<Connection> {
    const explicit = join(this.folder, "pki", "admin.kubeconfig");
    const { signal } = this.#stop;
    while (!existsSync(explicit)) await systemClock.sleep(lookMs, signal);
    this.#connection ??= await connectClient({ explicit, env: {}, userAgent: "bench/1", clock: systemClock, signal });
    return this.#connection;
  }

  get folder(): string {
    return join(this.#clusters, this.#name);
  }

  /** Where images are that all clusters of this home share. */
  get imageCache(): string {
    return join(this.#clusters, ".images");
  }

  get #clusters(): string {
    return join(this.#home, "clusters");
  }

  /** Processor time used so far by all that is ours, in milliseconds. */
  cpuMs(): number {
    const ticks = (pid: number) => {
      const fields = statOf(pid);
      return Number(fields[11]) + Number(fields[12]);
    };
    return (sum(this.#processes().map(ticks)) * 1000) / ticksPerSecond;
  }

  /** Memory of all that is ours. */
  rssMib(): number {
    const kib = (pid: number) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    return sum(this.#processes().map(kib)) / 1024;
  }

  /** The part of a core that it takes while nothing happens, in percent. */
  async idlePercent(ms: number): Promise<number> {
    const before = this.cpuMs();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return ((this.cpuMs() - before) / ms) * 100;
  }

  /** Ends it; what its home has for the next stays. */
  async end(): Promise<void> {
    this.#stop.abort(new Error("done"));
    this.#stop = new AbortController();
    this.#connection?.close();
    this.#connection = undefined;
    if (existsSync(this.folder)) await this.knarr("down");
  }

  async down(): Promise<void> {
    await this.end();
    rmSync(this.#home, { recursive: true, force: true });
  }

  async knarr(verb: string, ...args: readonly string[]): Promise<string> {
    const env = { ...process.env, HOME: this.#home, KUBECONFIG: "", KNARR_DATA_DIR: this.#clusters };
    const child = spawn(launcher, [verb, `--name=${this.#name}`, ...args], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`knarr ${verb} ${args.join(" ")} ended with ${code}:\n${out}`);
    return out;
  }

  /** The process of the cluster, and those it started; not the containerds of its nodes, which are not ours. */
  #processes(): number[] {
    const parents = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => ({ pid: Number(pid), parent: Number(statOf(Number(pid))[1]) }));
    const isContainerd = (pid: number) => /^\d+ \(containerd/.test(textOf(pid));
    const withChildren = (pid: number): number[] => [
      pid,
      ...parents
        .filter(({ parent, pid: child }) => parent === pid && !isContainerd(child))
        .flatMap((p) => withChildren(p.pid)),
    ];
    return withChildren(this.#pid);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** What the kernel says of a process after its name. */
const statOf = (pid: number): readonly string[] => textOf(pid).split(") ").at(-1)?.split(" ") ?? [];

function textOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return ""; // it has ended meanwhile
  }
}

/** How long a command takes that does nothing but start Node. */
export async function bareNodeMs(): Promise<number> {
  const begun = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "close");
  return performance.now() - begun;
}
