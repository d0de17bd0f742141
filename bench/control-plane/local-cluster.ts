// A cluster as a person starts it, with a home of its own, and what its process uses.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { parseJson } from "#schema/json.ts";

const launcher = fileURLToPath(new URL("../../knarr", import.meta.url));
const ticksPerSecond = 100;

export class LocalCluster {
  readonly #home = mkdtempSync(join(tmpdir(), "knarr-bench-"));
  readonly #stop = new AbortController();
  #close: () => void = () => undefined;
  #pid = 0;
  /** From the command line to its end: the cluster is ready. */
  startMs = 0;

  static async up(...flags: readonly string[]): Promise<LocalCluster> {
    const cluster = new LocalCluster();
    try {
      const begun = performance.now();
      await cluster.#knarr("up", "--runtime=simulated", "--port=0", ...flags);
      cluster.startMs = performance.now() - begun;
      const status = parseJson(await cluster.#knarr("status", "--output=json")).value as { readonly pid: number };
      cluster.#pid = status.pid;
      return cluster;
    } catch (error) {
      await cluster.down();
      throw error;
    }
  }

  async client(): Promise<Client> {
    const { client, close } = await connectClient({
      env: { HOME: this.#home },
      userAgent: "bench/1",
      clock: systemClock,
      signal: this.#stop.signal,
    });
    this.#close = close;
    return client;
  }

  /** Processor time used so far, in milliseconds. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.#pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
  }

  rssMib(): number {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.#pid}/status`, "utf8"))?.[1]) / 1024;
  }

  /** The part of a core that it takes while nothing happens, in percent. */
  async idlePercent(ms: number): Promise<number> {
    const before = this.cpuMs();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return ((this.cpuMs() - before) / ms) * 100;
  }

  async down(): Promise<void> {
    this.#stop.abort(new Error("done"));
    this.#close();
    await this.#knarr("down");
    rmSync(this.#home, { recursive: true, force: true });
  }

  async #knarr(...args: readonly string[]): Promise<string> {
    const env = { ...process.env, HOME: this.#home, KUBECONFIG: "", KNARR_DATA_DIR: join(this.#home, "clusters") };
    const child = spawn(launcher, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`knarr ${args.join(" ")} ended with ${code}:\n${out}`);
    return out;
  }
}

/** How long a command takes that does nothing but start Node. */
export async function bareNodeMs(): Promise<number> {
  const begun = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "close");
  return performance.now() - begun;
}
