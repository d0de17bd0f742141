// A HAProxy that runs beside this process: its files, its master process, and its runtime API.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { runProgram } from "#base/host/run-program.ts";
import type { Log } from "#base/log.ts";
import { certificateLines, configText, serverName } from "../haproxy/config.ts";
import {
  apiSocket,
  certificateList,
  certificatePath,
  defaultCertificate,
  type HaproxyPlaces,
  mapNames,
  mapOf,
  mapPath,
  mapText,
} from "../haproxy/places.ts";
import { deletion, type RuntimeCommand, stepsBetween } from "../haproxy/steps.ts";
import { ingressCertificates, type ProxyState } from "../proxy-state.ts";

export interface HaproxyOptions extends Omit<HaproxyPlaces, "generation"> {
  readonly program: string;
  /** For names without a certificate, in PEM. */
  readonly defaultPem: string;
  readonly clock: Clock;
  readonly log: Log;
}

const pollMs = 20;
const loadMs = 60_000;
const answerMs = 10_000;

export class Haproxy {
  readonly #options: HaproxyOptions;
  #child: ChildProcess | undefined;
  readonly #ended = Promise.withResolvers<void>();
  #generation = 0;
  #state: ProxyState | undefined;
  readonly #leaving = new Set<string>();
  /** How often it was reloaded, for tests and metrics. */
  reloads = 0;

  constructor(options: HaproxyOptions) {
    this.#options = options;
  }

  get hasLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Lets the proxy do this: by its runtime API if that can, else by another configuration, which drops no connection. */
  async become(state: ProxyState, signal: AbortSignal): Promise<void> {
    const { log, folder } = this.#options;
    const steps = this.#state && stepsBetween(this.#state, state, folder);
    if (!steps || steps.needsReload) return this.#load(state, signal);
    for (const command of steps.commands) {
      const answer = await this.command(command, signal);
      if (command.expected.test(answer)) continue;
      log.warn("the proxy refused a command; it gets another configuration instead", { command: command.text, answer });
      return this.#load(state, signal);
    }
    for (const server of steps.leaving) this.#leaving.add(server);
    this.#state = state;
  }

  /** Deletes servers whose last request is over. */
  async sweep(signal: AbortSignal): Promise<void> {
    for (const server of this.#leaving) {
      const isBack = this.#isServer(server);
      if (isBack || deletion(server).expected.test(await this.command(deletion(server), signal)))
        this.#leaving.delete(server);
    }
  }

  #isServer(server: string): boolean {
    const [id = "", name] = server.split("/");
    const servers = this.#state?.backends.get(id)?.servers ?? new Map();
    return [...servers.keys()].some((address) => serverName(address) === name);
  }

  async #load(state: ProxyState, signal: AbortSignal): Promise<void> {
    const { program, clock } = this.#options;
    const generation = this.#generation + 1;
    this.#write(state, generation);
    await runProgram([program, "-c", "-f", this.#config], { signal });
    if (this.#child) this.#child.kill("SIGUSR2");
    else this.#start();
    for (const until = clock.elapsed() + loadMs; ; await clock.sleep(pollMs, signal)) {
      const answer = await this.command({ text: "show env GENERATION", expected: /./ }, signal).catch(() => "");
      if (answer.includes(`GENERATION=${generation}`)) break;
      if (this.#child?.exitCode !== null || this.#child.signalCode !== null) throw new Error("the proxy ended");
      if (clock.elapsed() > until) throw new Error(`the proxy does not take its configuration ${generation}`);
    }
    if (this.#generation > 0) this.reloads++;
    this.#generation = generation;
    this.#leaving.clear();
    this.#state = state;
  }

  get #config(): string {
    return join(this.#options.folder, "haproxy.cfg");
  }

  #start(): void {
    const { program, folder, log } = this.#options;
    const args = ["-W", "-db", "-S", join(folder, "master.sock"), "-f", this.#config];
    const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
    child.once("error", (error) => {
      log.error("the proxy could not be started", { error: error.message });
      this.#ended.resolve();
    });
    child.once("exit", () => this.#ended.resolve());
    this.#child = child;
  }

  /** Of its master process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when it was started and has ended, which it does not unless it is told to. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Takes no new connections, and ends when the last one is over, or after a while. */
  async end(graceMs: number): Promise<void> {
    const { clock } = this.#options;
    if (!this.#child) return;
    this.#child.kill("SIGUSR1");
    const cancel = clock.after(graceMs, () => this.#child?.kill("SIGTERM"));
    await this.#ended.promise;
    cancel();
  }

  #write(state: ProxyState, generation: number): void {
    const { folder, defaultPem } = this.#options;
    mkdirSync(join(folder, "certificates"), { recursive: true, mode: 0o700 });
    const keep = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 });
    for (const name of mapNames) keep(mapPath(folder, name), mapText(mapOf(state, name)));
    keep(certificatePath(folder, defaultCertificate), defaultPem);
    for (const [secret, pem] of state.certificates) keep(certificatePath(folder, secret), pem);
    const { ingress } = this.#options;
    for (const list of new Set([...(ingress ? [ingressCertificates] : []), ...state.certificateLists.keys()]))
      keep(certificateList(folder, list), `${certificateLines(state, list, folder)}\n`);
    keep(this.#config, configText(state, { ...this.#options, generation }));
  }

  /** What the runtime API answers. */
  async command({ text, payload }: RuntimeCommand, signal: AbortSignal): Promise<string> {
    const { folder, clock } = this.#options;
    signal.throwIfAborted();
    const socket = connect(apiSocket(folder));
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const cancel = clock.after(answerMs, () => reject(new Error(`the proxy does not answer ${text}`)));
    let answer = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      answer += part;
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(answer));
    socket.end(payload === undefined ? `${text}\n` : `${text} <<\n${payload}\n`);
    try {
      return await promise;
    } finally {
      cancel();
      socket.destroy();
    }
  }
}
