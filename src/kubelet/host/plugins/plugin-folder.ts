// The folder in which plugins announce themselves: each puts a socket there, is asked who it is, handed to whoever takes plugins of its type,
// and told what came of it. A plugin goes when its socket does. What is there when a kubelet starts is found like what comes later.
// Upstream: pkg/kubelet/pluginmanager/operationexecutor/operation_generator.go.
import { mkdir, readdir, stat, watch } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { own } from "#base/collections.ts";
import { explain, hasCode } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import { CriConnection } from "../cri/connection.ts";
import type { Plugin, PluginHandler } from "./plugin-handler.ts";
import { registrationRpcs } from "./registration.ts";

export interface PluginFolderOptions {
  /** `/var/lib/kubelet/plugins_registry`. */
  readonly folder: string;
  /** By the type of the plugins that they take. */
  readonly handlers: Readonly<Record<string, PluginHandler>>;
  /** Resolves when plugins may be told of: the node must be in the API. */
  readonly ready: Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** One socket of the folder. */
interface PluginSocket {
  readonly path: string;
  /** Tells a socket from the next one at the same path. */
  readonly stamp: string;
  plugin?: Plugin & { readonly handler: PluginHandler };
  failures: number;
  retryAt: number;
  work?: Promise<void> | undefined;
}

/** The watch does not see what happens in folders of the folder. */
const rescanMs = 10_000;
const retryDelays = { firstMs: 500, maxMs: 120_000 };
const infoMs = 10_000;

export class PluginFolder implements Component {
  readonly name = "plugins";
  readonly #options: PluginFolderOptions;
  readonly #sockets = new Map<string, PluginSocket>();
  #wake: () => void = () => undefined;

  constructor(options: PluginFolderOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const parts: Component[] = [
      { name: "watch", run: (stop) => this.#watch(stop) },
      { name: "sync", run: (stop) => this.#follow(stop) },
    ];
    try {
      await supervise(parts, signal);
    } finally {
      await Promise.all([...this.#sockets.values()].map(({ work }) => work));
    }
    throw signal.reason;
  }

  /** Only to be sooner than the next scan. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { folder, clock } = this.#options;
    for (;;) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o750 });
        for await (const _ of watch(folder, { signal })) this.#wake();
      } catch (error) {
        signal.throwIfAborted();
        this.#options.log.warn("the folder of plugins cannot be watched", { folder, error: explain(error) });
      }
      await clock.sleep(30_000, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, folder, ready } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o750 });
    await unlessAborted(ready, signal);
    for (;;) {
      signal.throwIfAborted();
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await this.#sync(signal);
      const stop = new AbortController();
      const late = clock.sleep(this.#idleMs(), AbortSignal.any([signal, stop.signal])).catch(() => undefined);
      await Promise.race([woken, late]);
      stop.abort();
    }
  }

  /** How long there is nothing to do unless something happens: until the next plugin is tried again. */
  #idleMs(): number {
    const now = this.#options.clock.elapsed();
    const retries = [...this.#sockets.values()].filter(({ plugin, work }) => !plugin && !work);
    return Math.min(rescanMs, ...retries.map(({ retryAt }) => Math.max(0, retryAt - now)));
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { clock, folder, log } = this.#options;
    const found = new Map<string, string>();
    try {
      await findSockets(folder, found);
    } catch (error) {
      log.warn("the folder of plugins cannot be read", { folder, error: explain(error) });
      return;
    }
    for (const socket of [...this.#sockets.values()]) {
      if (socket.work || found.get(socket.path) === socket.stamp) continue;
      this.#sockets.delete(socket.path);
      await this.#deregister(socket, signal);
    }
    for (const [path, stamp] of found) {
      const known = this.#sockets.get(path);
      const socket: PluginSocket = known ?? { path, stamp, failures: 0, retryAt: 0 };
      this.#sockets.set(path, socket);
      if (socket.plugin || socket.work || clock.elapsed() < socket.retryAt) continue;
      socket.work = this.#register(socket, signal).finally(() => {
        socket.work = undefined;
        this.#wake();
      });
    }
  }

  async #register(socket: PluginSocket, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const connection = new CriConnection(`unix://${socket.path}`, clock, undefined, {});
    const limits = { timeoutMs: infoMs, signal };
    try {
      const { type, name, endpoint, supportedVersions } = await connection.call(registrationRpcs.getInfo, {}, limits);
      try {
        const handler = own(this.#options.handlers, type);
        if (!handler) throw new Error(`no handler registered for plugin type: ${type} at socket ${socket.path}`);
        const plugin = { name, endpoint: endpoint || socket.path, versions: supportedVersions };
        await handler.register(plugin, signal);
        socket.plugin = { ...plugin, handler };
      } catch (error) {
        const said = `RegisterPlugin error -- ${explain(error)}`;
        await connection.call(registrationRpcs.notify, { pluginRegistered: false, error: said }, limits);
        throw error;
      }
      try {
        await connection.call(registrationRpcs.notify, { pluginRegistered: true }, limits);
      } catch (error) {
        await this.#deregister(socket, signal);
        throw error;
      }
      log.info("a plugin is registered", { type, plugin: name });
    } catch (error) {
      if (signal.aborted) return;
      if (socket.failures === 0)
        log.warn("a plugin is not registered; trying again", { socket: socket.path, error: explain(error) });
      socket.retryAt = clock.elapsed() + backoffMs(retryDelays, socket.failures++);
    } finally {
      connection.close();
    }
  }

  async #deregister(socket: PluginSocket, signal: AbortSignal): Promise<void> {
    const { plugin } = socket;
    delete socket.plugin;
    if (!plugin) return;
    try {
      await plugin.handler.deregister(plugin, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#options.log.warn("a plugin that is gone is still told of", { plugin: plugin.name, error: explain(error) });
    }
  }
}

/** Sockets of a folder and of those in it; names that begin with a dot are not looked at. */
async function findSockets(folder: string, found: Map<string, string>): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith(".")) continue;
    try {
      if (entry.isDirectory()) await findSockets(path, found);
      else if (entry.isSocket()) {
        const { ino, birthtimeMs } = await stat(path);
        found.set(path, `${ino} ${birthtimeMs}`);
      }
    } catch (error) {
      if (!hasCode(error, "ENOENT")) throw error; // it has just gone
    }
  }
}
