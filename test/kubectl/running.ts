// Our kubectl within the process of a test, with streams of its own.
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { Io } from "#kubectl/io.ts";
import { kubectl } from "#kubectl/main.ts";

export interface RunningOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly input?: string;
  readonly io?: Partial<Io>;
}

/** A command line that runs; it can be interrupted, and what it has printed be waited for. */
export class Running implements AsyncDisposable {
  readonly #interrupted = new AbortController();
  readonly #changed = new EventTarget();
  readonly code: Promise<number>;
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], { env = {}, cwd = "/", input = "", io = {} }: RunningOptions = {}) {
    const take = (name: "stdout" | "stderr") => ({
      write: (data: string | Uint8Array) => {
        this[name] += typeof data === "string" ? data : Buffer.from(data).toString("utf8");
        this.#changed.dispatchEvent(new Event("changed"));
      },
    });
    this.code = kubectl(args, {
      stdin: (async function* () {
        yield Buffer.from(input);
      })(),
      stdout: take("stdout"),
      stderr: take("stderr"),
      env,
      cwd,
      clock: systemClock,
      random: seededRandom(1),
      signal: this.#interrupted.signal,
      ...io,
    });
    void this.code.then(() => this.#changed.dispatchEvent(new Event("changed")));
  }

  /** Rejects if it ends without having printed it. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    let isOver = false;
    void this.code.then(() => {
      isOver = true;
    });
    for (;;) {
      const found = pattern.exec(this.stdout + this.stderr);
      if (found) return found;
      if (isOver) throw new Error(`it ended with ${await this.code} without ${pattern}: ${this.stdout}${this.stderr}`);
      await new Promise((wake) => this.#changed.addEventListener("changed", wake, { once: true }));
    }
  }

  interrupt(): void {
    this.#interrupted.abort(new Error("interrupted"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt();
    await this.code;
  }
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function run(args: readonly string[], options: RunningOptions = {}): Promise<Finished> {
  const running = new Running(args, options);
  const code = await running.code;
  return { code, stdout: running.stdout, stderr: running.stderr };
}
