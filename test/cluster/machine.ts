// `knarr` as a person uses it, with a home, a kubeconfig and a place for clusters that are gone after the test.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { losesStreams } from "../apiserver/replay.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class Machine implements AsyncDisposable {
  readonly #kubectl: string;
  readonly home = mkdtempSync(join(tmpdir(), "knarr-home-"));
  readonly kubeconfig = join(this.home, ".kube", "config");
  readonly clusters = join(this.home, "clusters");
  readonly env = {
    ...process.env,
    HOME: this.home,
    KUBECONFIG: "",
    KNARR_DATA_DIR: this.clusters,
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile"),
  };

  constructor(kubectl = "kubectl") {
    this.#kubectl = kubectl;
  }

  /** Runs a command of knarr's to its end. */
  knarr(...args: readonly string[]): Promise<Ran> {
    return this.run(process.execPath, [join(root, "src/main.ts"), ...args]);
  }

  /** The same, and what it says; throws if it fails. */
  async ok(...args: readonly string[]): Promise<string> {
    return said(args, await this.knarr(...args));
  }

  /** An exec whose output a kubectl before 1.34 threw away, because it was not ready for it yet, is done again. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const ran = await this.run(this.#kubectl, args);
    return said(args, losesStreams(ran.err) ? await this.run(this.#kubectl, args) : ran);
  }

  /** By a kubectl of another version. */
  async kubectlOf(program: string, ...args: readonly string[]): Promise<string> {
    return said(args, await this.run(program, args));
  }

  /** A program that goes on until it is disposed of, and what it has said so far. */
  keep(program: string, ...args: readonly string[]): AsyncDisposable & { said(): string } {
    const child = spawn(program, args, { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(child, "close");
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
    return {
      said: () => text,
      async [Symbol.asyncDispose]() {
        child.kill();
        await ended;
      },
    };
  }

  start(...args: readonly string[]) {
    return spawn(process.execPath, [join(root, "src/main.ts"), ...args], { env: this.env, stdio: "pipe" });
  }

  async run(program: string, args: readonly string[]): Promise<Ran> {
    const child = spawn(program, args, { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    const parts = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      parts.out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      parts.err += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    return { code, ...parts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.knarr("down");
    rmSync(this.home, { recursive: true, force: true });
  }
}

function said(args: readonly string[], { code, out, err }: Ran): string {
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}:\n${err}${out}`);
  return out;
}
