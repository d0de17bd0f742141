// Static pods from a folder of manifests, as upstream's pkg/kubelet/config/file.go reads them.
import { mkdir, open, readdir, watch } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { type StaticPodSource, staticPod } from "../static-pods/static-pod.ts";
import { exists } from "./volumes/files.ts";

export interface StaticFolderOptions {
  readonly folder: string;
  readonly node: string;
  /** How often it is read in any case; defaults to upstream's fileCheckFrequency. */
  readonly rescanMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

const usualRescanMs = 20_000;
const maxBytes = 10 * 2 ** 20;

export class StaticFolder implements StaticPodSource, Component {
  readonly name = "static pods";
  changed: () => void = () => undefined;
  readonly #options: StaticFolderOptions;
  /** What each file described when it was last understood. */
  #known = new Map<string, Pod>();
  /** Files that cannot be parsed, and why; each is logged once. */
  readonly #bad = new Map<string, string>();

  constructor(options: StaticFolderOptions) {
    this.#options = options;
  }

  /** The pods of the folder. A file that makes no sense any more keeps the pod it had: it may be half written. */
  async read(): Promise<readonly Pod[]> {
    const { folder } = this.#options;
    const pods = new Map<string, Pod>();
    for (const path of await this.#files(folder)) {
      const before = this.#known.get(path);
      try {
        const pod = await this.#pod(path);
        pods.set(path, before?.metadata.uid === pod.metadata.uid ? before : pod);
        this.#bad.delete(path);
      } catch (error) {
        if (before) pods.set(path, before);
        this.#complain("a static pod is not understood", path, error);
      }
    }
    this.#known = pods;
    return [
      ...new Map([...pods.values()].map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod])).values(),
    ];
  }

  /** Those that were there last, if the folder cannot be read: what runs goes on. */
  async #files(folder: string): Promise<readonly string[]> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o750 });
      const entries = await readdir(folder, { withFileTypes: true });
      this.#bad.delete(folder);
      return entries
        .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
        .map(({ name }) => join(folder, name));
    } catch (error) {
      this.#complain("the folder of static pods cannot be read", folder, error);
      return [...this.#known.keys()];
    }
  }

  #complain(what: string, path: string, error: unknown): void {
    const why = explain(error);
    if (this.#bad.get(path) !== why) this.#options.log.error(what, { path, error: why });
    this.#bad.set(path, why);
  }

  async run(signal: AbortSignal): Promise<void> {
    const parts: Component[] = [
      { name: "watch", run: (stop) => this.#watch(stop) },
      { name: "rescan", run: (stop) => this.#rescan(stop) },
    ];
    await supervise(parts, signal);
    throw signal.reason;
  }

  /** If the folder is removed, it is made again and watched again. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { folder, clock, rescanMs = usualRescanMs } = this.#options;
    for (;;) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o750 });
        for await (const { eventType } of watch(folder, { signal })) {
          this.changed();
          if (eventType === "rename" && !(await exists(folder))) break;
        }
      } catch (error) {
        signal.throwIfAborted();
        this.#complain("the folder of static pods cannot be watched", folder, error);
      }
      await clock.sleep(rescanMs, signal);
    }
  }

  async #rescan(signal: AbortSignal): Promise<void> {
    const { clock, rescanMs = usualRescanMs } = this.#options;
    for (;;) {
      await clock.sleep(rescanMs, signal);
      this.changed();
    }
  }

  async #pod(path: string): Promise<Pod> {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > maxBytes) throw new Error(`${path} has ${size} bytes, more than ${maxBytes}`);
      const { node, clock } = this.#options;
      return staticPod(await file.readFile(), { path, node, now: clock.now() });
    } finally {
      await file.close();
    }
  }
}
