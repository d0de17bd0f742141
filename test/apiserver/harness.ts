// An API server in a process of its own, as people start it: with its own certificates, on a port of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface ServerOptions {
  /** Where the state lives: gone with the process, or in the folder of the server. */
  readonly store?: "memory" | "embedded";
  readonly flags?: readonly string[];
}

/** A server that can be killed and started again on the same port with the same state; its folder goes with it. */
export class ServerProcess implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-apiserver-"));
  readonly kubeconfig = join(this.folder, "pki", "admin.kubeconfig");
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  #port = 0;

  private constructor(options: ServerOptions) {
    this.#options = options;
    process.once("exit", this.#killAtExit);
  }

  static async start(options: ServerOptions = {}): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    await server.start();
    return server;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  /** Memory that the process has at present. */
  get residentBytes(): number {
    return Number(readFileSync(`/proc/${this.#child?.pid}/statm`, "utf8").split(" ")[1]) * 4096;
  }

  file(name: "ca.crt" | "admin.crt" | "admin.key" | "sa.key"): string {
    return join(this.folder, "pki", name);
  }

  /** Resolves when the server serves. */
  async start(): Promise<void> {
    const { store = "memory", flags = [] } = this.#options;
    const args = [
      `--secure-port=${this.#port}`,
      "--bind-address=127.0.0.1",
      `--cert-dir=${join(this.folder, "pki")}`,
      ...(store === "memory" ? ["--store=memory"] : [`--data-dir=${join(this.folder, "data")}`]),
      ...flags,
    ];
    // As the launcher starts it: young objects would take 100 MiB more.
    const child = spawn(
      process.execPath,
      ["--max-semi-space-size=8", join(root, "src/main.ts"), "apiserver", ...args],
      {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile") },
      },
    );
    this.#child = child;
    this.#port = await servingPort(child);
  }

  /** Resolves with the exit code; null if it was killed, or did not run. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return null;
    const exited = once(child, "exit");
    child.kill(signal);
    const [code] = await exited;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    process.off("exit", this.#killAtExit);
    if (existsSync(this.folder)) rmSync(this.folder, { recursive: true, force: true });
  }

  /** A test that fails so badly that nothing is disposed of still leaves nothing behind. */
  readonly #killAtExit = (): void => {
    this.#child?.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  };
}

/** The port from the line by which the server says that it serves. Throws with its log if it ends before. */
async function servingPort({ stderr }: ChildProcess): Promise<number> {
  if (!stderr) throw new Error("the log of the server is not piped");
  const seen: string[] = [];
  // Reading goes on after the line was found: a full pipe would stop the server.
  return new Promise((resolve, reject) => {
    createInterface({ input: stderr })
      .on("line", (line) => {
        seen.push(line);
        const port = /"message":"serving","port":(\d+)/.exec(line)?.[1];
        if (port !== undefined) resolve(Number(port));
        else if (/"level":"error"/.test(line)) console.error(line);
      })
      .once("close", () => reject(new Error(`the server ended before it served:\n${seen.join("\n")}`)));
  });
}
