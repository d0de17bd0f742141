// One run of a command: what it was told by flags and files, and the way to the server, made when it is first needed.
import { homedir } from "node:os";
import { join } from "node:path";
import { kubernetesVersion } from "#api/release.ts";
import { DurationError, parseDuration } from "#base/duration.ts";
import type { ClientConfig } from "./client-config.ts";
import type { CachedDiscovery } from "./discovery/cached-discovery.ts";
import type { RestMapper } from "./discovery/rest-mapper.ts";
import { KubectlError } from "./errors.ts";
import type { GlobalFlags } from "./global-flags.ts";
import type { Io } from "./io.ts";
import type { PluginPolicy } from "./kuberc/preference.ts";
import type { KubeObject, RestClient } from "./rest/client.ts";
import type { RestRequest } from "./rest/request.ts";

/** What servers are told of who asks. */
export const userAgent = `kubectl/${kubernetesVersion} (${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}) kubernetes/knarr`;

export class Session {
  readonly io: Io;
  readonly globals: GlobalFlags;
  /** Which flags for all commands were given. */
  readonly #changed: ReadonlySet<string>;
  readonly commandPath: string;
  readonly #warnings = new Set<string>();
  #config: Promise<ClientConfig> | undefined;
  #client: Promise<RestClient> | undefined;
  #discovery: Promise<CachedDiscovery> | undefined;
  #mapper: Promise<RestMapper> | undefined;

  /** Which programs may be run for credentials; undefined allows all. */
  readonly pluginPolicy: PluginPolicy | undefined;

  constructor(
    io: Io,
    globals: GlobalFlags,
    changed: ReadonlySet<string>,
    commandPath: string,
    pluginPolicy?: PluginPolicy,
  ) {
    this.pluginPolicy = pluginPolicy;
    this.io = io;
    this.globals = globals;
    this.#changed = changed;
    this.commandPath = commandPath;
  }

  /** Writes a line to the standard output. */
  print(line: string): void {
    this.io.stdout.write(`${line}\n`);
  }

  printError(line: string): void {
    this.io.stderr.write(`${line}\n`);
  }

  /** Tells a warning, each only once. */
  warn(text: string): void {
    if (this.#warnings.has(text)) return;
    this.#warnings.add(text);
    this.printError(`Warning: ${text}`);
  }

  /** How many different warnings there were. */
  get warningCount(): number {
    return this.#warnings.size;
  }

  isChanged(flag: keyof GlobalFlags): boolean {
    return this.#changed.has(flag);
  }

  config(): Promise<ClientConfig> {
    this.#config ??= this.#loadConfig();
    return this.#config;
  }

  /** The namespace that is meant where none is named. */
  async namespace(): Promise<string> {
    return (await this.config()).namespace;
  }

  /** Whether the namespace was asked for, so that objects of another one are a mistake. */
  async isNamespaceEnforced(): Promise<boolean> {
    return (await this.config()).isNamespaceExplicit;
  }

  client(): Promise<RestClient> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  discovery(): Promise<CachedDiscovery> {
    this.#discovery ??= this.#loadDiscovery();
    return this.#discovery;
  }

  mapper(): Promise<RestMapper> {
    this.#mapper ??= this.#loadMapper();
    return this.#mapper;
  }

  get cacheFolder(): string {
    const { env } = this.io;
    return this.globals["cache-dir"] || env.KUBECACHEDIR || join(env.HOME ?? homedir(), ".kube", "cache");
  }

  /** What changes seldom, from the disk where the server agrees. Rejects as requests do. */
  async cachedJson(request: RestRequest): Promise<KubeObject> {
    const { cachedText } = await import("./rest/response-cache.ts");
    const { objectIn } = await import("./rest/client.ts");
    return objectIn(await cachedText(await this.client(), join(this.cacheFolder, "http"), request), request);
  }

  /** 0 means no limit. Throws KubectlError. */
  get requestTimeoutMs(): number {
    const text = this.globals["request-timeout"];
    if (/^\d+$/.test(text)) return Number(text) * 1000;
    try {
      return Number(parseDuration(text)) / 1e6;
    } catch (error) {
      if (!(error instanceof DurationError)) throw error;
      throw new KubectlError(
        `Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)`,
        { cause: error },
      );
    }
  }

  async close(): Promise<void> {
    if (this.#client) (await this.#client.catch(() => undefined))?.close();
  }

  // Each is loaded when it is first needed: many commands need none of it, and people wait for them to start.
  async #loadConfig(): Promise<ClientConfig> {
    const { loadClientConfig } = await import("./client-config.ts");
    return loadClientConfig(this.io, this.globals);
  }

  async #loadDiscovery(): Promise<CachedDiscovery> {
    const { CachedDiscovery, discoveryFolder } = await import("./discovery/cached-discovery.ts");
    const { server } = await this.config();
    return new CachedDiscovery(() => this.client(), discoveryFolder(this.cacheFolder, server), this.io.clock);
  }

  async #loadMapper(): Promise<RestMapper> {
    const { RestMapper } = await import("./discovery/rest-mapper.ts");
    return new RestMapper(await this.discovery(), (text) => this.warn(text));
  }

  async #connect(): Promise<RestClient> {
    const { connect } = await import("./rest/connect.ts");
    return connect(this, await this.config());
  }
}
