// Somebody in a network namespace whom others can reach at a port, and who can reach others.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./peer-process.ts", import.meta.url));

export class Peer implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (answer: string) => void>();
  #next = 0;

  private constructor(process: ChildProcess) {
    this.#process = process;
    process.on("message", ({ id, answer }: { id: number; answer: string }) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  /** `netns` is the path of the namespace; without it, the host. */
  static async start(name: string, netns?: string, port = 8080): Promise<Peer> {
    const enter = netns === undefined ? [] : ["nsenter", `--net=${netns}`];
    const [command = "", ...args] = [...enter, process.execPath, program, name, String(port)];
    const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const peer = new Peer(child);
    const [said] = await Promise.race([once(child, "message"), once(child, "exit")]);
    if (said !== "ready") throw new Error(`peer ${name} ended with ${said}`);
    return peer;
  }

  /** Who answered, and which address they saw us come from; or the code of the error; `timeout` if nobody did. */
  ask(to: string, port = 8080): Promise<string> {
    return this.#send({ to, port });
  }

  /** Opens a connection that stays open; `1` if it is answered, else `0`. */
  hold(to: string, port: number): Promise<string> {
    return this.#send({ to, port, act: "hold" });
  }

  /** How many of the connections that were opened to stay are still answered. */
  heldConnections(): Promise<string> {
    return this.#send({ act: "poke" });
  }

  #send(question: object): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const id = this.#next++;
    this.#waiting.set(id, resolve);
    this.#process.send({ id, ...question });
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}
