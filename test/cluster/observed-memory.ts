// A cluster in a process of its own, whose memory can be looked at after a collection: by V8's inspector, since what the system
// counts as resident depends on when memory was last given back.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { systemClock } from "#base/clock.ts";
import { type Connection, connectClient } from "#client/host/connect.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface MemoryUse {
  readonly heapBytes: number;
  /** Outside the heap, but kept by objects in it: the bytes of buffers. */
  readonly externalBytes: number;
  readonly residentBytes: number;
}

export class ObservedCluster implements AsyncDisposable {
  readonly #home = mkdtempSync(join(tmpdir(), "knarr-memory-"));
  readonly #stop = new AbortController();
  #child: ChildProcess | undefined;
  #connection: Connection | undefined;
  #inspectorUrl = "";

  static async up(...flags: readonly string[]): Promise<ObservedCluster> {
    const cluster = new ObservedCluster();
    try {
      await cluster.#start(flags);
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  get storeFile(): string {
    return join(this.#home, "clusters", "observed", "store", "store.lmdb");
  }

  get connection(): Connection {
    if (!this.#connection) throw new Error("the cluster is not connected");
    return this.#connection;
  }

  /** What the process uses after everything that nobody holds was collected. */
  async memory(): Promise<MemoryUse> {
    const socket = new WebSocket(this.#inspectorUrl);
    await once(socket, "open");
    let last = 0;
    const call = async (method: string, params: object = {}): Promise<Record<string, unknown>> => {
      const id = ++last;
      socket.send(JSON.stringify({ id, method, params }));
      for (;;) {
        const [data] = (await once(socket, "message")) as [Buffer];
        const answer = JSON.parse(data.toString()) as { id?: number; result: Record<string, unknown> };
        if (answer.id === id) return answer.result;
      }
    };
    try {
      // Buffers are given back by the collection after the one that finds them unused.
      for (let round = 0; round < 3; round++) await call("HeapProfiler.collectGarbage");
      const { result } = await call("Runtime.evaluate", { expression: "JSON.stringify(process.memoryUsage())" });
      const use = JSON.parse((result as { value: string }).value) as NodeJS.MemoryUsage;
      return { heapBytes: use.heapUsed, externalBytes: use.external, residentBytes: use.rss };
    } finally {
      socket.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    this.#connection?.close();
    if (this.#child && this.#child.exitCode === null) {
      const ended = once(this.#child, "close");
      this.#child.kill("SIGTERM");
      await ended;
    }
    rmSync(this.#home, { recursive: true, force: true });
  }

  async #start(flags: readonly string[]): Promise<void> {
    const clusters = join(this.#home, "clusters");
    const env = { ...process.env, HOME: this.#home, KUBECONFIG: "", KNARR_DATA_DIR: clusters };
    const command = ["up", "--foreground", "--name=observed", "--runtime=simulated", "--port=0", ...flags];
    const child = spawn(process.execPath, ["--inspect=127.0.0.1:0", "--max-semi-space-size=8", main, ...command], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (said.length < 100_000) said += text;
    });
    const kubeconfig = join(this.#home, ".kube", "config");
    const isReady = () => existsSync(kubeconfig) && /knarr-observed/.test(readFileSync(kubeconfig, "utf8"));
    while (!isReady()) {
      if (child.exitCode !== null) throw new Error(`knarr up ended with ${child.exitCode}:\n${said}`);
      await systemClock.sleep(50, this.#stop.signal);
    }
    this.#inspectorUrl = /ws:\/\/\S+/.exec(said)?.[0] ?? "";
    this.#connection = await connectClient({
      explicit: kubeconfig,
      env: {},
      userAgent: "soak/1",
      clock: systemClock,
      signal: this.#stop.signal,
    });
  }
}
