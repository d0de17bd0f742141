// A part of the control plane in a process of its own, and what it has logged so far.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ServerProcess } from "../apiserver/harness.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

export class Part implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  #look: () => void = () => undefined;

  constructor(server: ServerProcess, name: string, ...flags: readonly string[]) {
    const kubeconfig = join(server.folder, "pki", `${name}.kubeconfig`);
    const args = [name, `--kubeconfig=${kubeconfig}`, "--bind-address=127.0.0.1", ...flags];
    this.#child = spawn(process.execPath, [join(root, "src/main.ts"), ...args], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile") },
    });
    process.once("exit", this.#killAtExit);
    if (!this.#child.stderr) throw new Error("the log is not piped");
    createInterface({ input: this.#child.stderr }).on("line", (line) => {
      this.#lines.push(line);
      this.#look();
    });
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get log(): string {
    return this.#lines.join("\n");
  }

  /** Whether it has logged such a line. */
  has(pattern: RegExp): boolean {
    return this.#lines.some((line) => pattern.test(line));
  }

  /** Resolves with the first line that says so. */
  logged(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      this.#look = () => {
        for (const line of this.#lines) {
          const found = pattern.exec(line);
          if (found) resolve(found);
        }
      };
      this.#child.once("exit", () => reject(new Error(`it ended: ${this.log}`)));
      this.#look();
    });
  }

  /** `SIGSTOP` lets it stand still, `SIGCONT` go on. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async ended(): Promise<void> {
    if (!this.hasEnded) await once(this.#child, "exit");
    process.off("exit", this.#killAtExit);
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (!this.hasEnded) this.#child.kill(signal);
    await this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }

  readonly #killAtExit = (): void => {
    this.#child.kill("SIGKILL");
  };
}
