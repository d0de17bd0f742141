// Rotates the logs of a node's containers, and removes them with their pods, as upstream's pkg/kubelet/logs/container_log_manager.go does.
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { explain, hasCode } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { HostResource } from "../../host-resource.ts";
import { logDirectoryOf } from "../../runtime/cri-config.ts";
import type { ServedPod } from "../../server/server.ts";
import { folderBytes } from "../volumes/folder-bytes.ts";
import { rotateLog } from "./files.ts";

export interface PodLogsOptions {
  readonly logsDirectory: string;
  readonly linksDirectory: string;
  /** The pods of the node, and what the runtime has of them. */
  readonly list: () => Iterable<ServedPod>;
  readonly runtime: { reopenLog(id: string, signal: AbortSignal): Promise<void> };
  readonly clock: Clock;
  readonly log: Log;
  readonly maxBytes?: number;
  readonly maxFiles?: number;
}

/** As upstream's containerLogMonitorInterval, containerLogMaxSize and containerLogMaxFiles. */
const checkMs = 10_000;
const maxBytes = 10 * 2 ** 20;
const maxFiles = 5;

export class PodLogs implements HostResource, Component {
  readonly name = "logs";
  readonly #options: Required<PodLogsOptions>;

  constructor(options: PodLogsOptions) {
    this.#options = { maxBytes, maxFiles, ...options };
  }

  async remove(podUid: string): Promise<void> {
    const { logsDirectory } = this.#options;
    for (const folder of await namesIn(logsDirectory))
      if (uidIn(folder) === podUid) await rm(join(logsDirectory, folder), { recursive: true, force: true });
    await this.#removeLinks();
  }

  async pods(): Promise<readonly string[]> {
    return (await namesIn(this.#options.logsDirectory)).map(uidIn);
  }

  /** What the logs of a container take, older runs included. */
  bytesOf(pod: Pod, container: string): Promise<number> {
    return folderBytes(`${logDirectoryOf(pod, this.#options)}/${container}`);
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(checkMs, signal);
      await this.check(signal);
    }
  }

  /** Rotates the logs that have become too large. */
  async check(signal: AbortSignal): Promise<void> {
    const { list, clock, runtime, log, maxBytes: limitBytes, maxFiles: files } = this.#options;
    for (const { pod, state } of list())
      for (const { id, name, attempt, phase } of state.containers) {
        if (phase !== "running") continue;
        const path = `${logDirectoryOf(pod, this.#options)}/${name}/${attempt}.log`;
        try {
          if ((await sizeOf(path)) <= limitBytes) continue;
          await rotateLog(path, { files, now: clock.now(), reopen: () => runtime.reopenLog(id, signal) });
        } catch (error) {
          signal.throwIfAborted();
          log.warn("a log was not rotated", { path, error: explain(error) });
        }
      }
  }

  /** Removes links whose log is gone. */
  async #removeLinks(): Promise<void> {
    const { linksDirectory } = this.#options;
    for (const name of await namesIn(linksDirectory)) {
      const link = join(linksDirectory, name);
      if (!(await leads(link))) await rm(link, { force: true });
    }
  }
}

/** `namespace_name_uid`. */
const uidIn = (folder: string): string => folder.split("_")[2] ?? "";

/** Whether there is what the link leads to. It may itself be gone: others remove links as well. */
async function leads(link: string): Promise<boolean> {
  try {
    await stat(link);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return 0;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}
