// A member of an etcd as a child of this process. One that ends is started again; one that was taken out of its cluster is not.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { aborted } from "#base/aborted.ts";
import type { Clock } from "#base/clock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { programPath } from "#base/host/run-program.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { etcdArguments } from "./etcd-arguments.ts";
import type { EtcdCertificateFiles } from "./etcd-certificates.ts";
import type { EtcdMemberSettings } from "./member-settings.ts";

export interface EtcdProcessOptions {
  readonly member: EtcdMemberSettings;
  readonly certificates: EtcdCertificateFiles;
  readonly folder: string;
  readonly logFile: string;
  /** Makes it the only member of its cluster, with the data that it has. */
  readonly forgetsOthers?: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

const backoff = { firstMs: 500, maxMs: 10_000 };
/** One that ran for so long is started again at once after it ended. */
const steadyMs = 60_000;
const graceMs = 5_000;
const endOfLog = 16_384;

export class EtcdProcess implements Component {
  readonly name = "etcd";
  readonly #options: EtcdProcessOptions;
  #child: ChildProcess | undefined;

  constructor(options: EtcdProcessOptions) {
    this.#options = options;
  }

  /** Of the process at the moment. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, member } = this.#options;
    for (let failures = 0; !signal.aborted; failures++) {
      const began = clock.elapsed();
      const how = await this.#once(signal);
      if (signal.aborted) return;
      if (/permanently removed from the cluster/.test(this.#lastWords()))
        throw new Error(`member ${member.name} of etcd was removed from its cluster`);
      if (clock.elapsed() - began > steadyMs) failures = 0;
      log.error("etcd has ended; starting it again", { how, member: member.name });
      await clock.sleep(backoffMs(backoff, failures), signal).catch(() => undefined); // aborted: the loop ends
    }
  }

  /** Resolves with how it ended. */
  async #once(signal: AbortSignal): Promise<string> {
    const { clock } = this.#options;
    const child = this.#spawn();
    this.#child = child;
    const ended = once(child, "exit").then(([code, name]) => `with ${code ?? name}`);
    const stopped = aborted(signal).then(() => "stopped");
    const how = await Promise.race([ended, stopped]);
    if (child.exitCode !== null || child.signalCode !== null) return how;
    child.kill("SIGTERM");
    const cancel = clock.after(graceMs, () => child.kill("SIGKILL"));
    await ended;
    cancel();
    return how;
  }

  #spawn(): ChildProcess {
    const { folder, logFile } = this.#options;
    makeFolder(folder);
    chmodSync(folder, 0o700);
    const log = openSync(logFile, "a", 0o600);
    try {
      // The kernel ends it together with this process: another one could not start while it holds its files.
      return spawn("setpriv", ["--pdeathsig=KILL", "etcd", ...etcdArguments(this.#options)], {
        stdio: ["ignore", log, log],
        env: { PATH: programPath(process.env.PATH) },
      });
    } finally {
      closeSync(log);
    }
  }

  #lastWords(): string {
    const { logFile } = this.#options;
    if (!existsSync(logFile)) return "";
    const { size } = statSync(logFile);
    const bytes = Buffer.alloc(Math.min(size, endOfLog));
    const file = openSync(logFile, "r");
    try {
      readSync(file, bytes, 0, bytes.length, size - bytes.length);
    } finally {
      closeSync(file);
    }
    return bytes.toString("utf8");
  }
}
