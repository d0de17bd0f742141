// What servers serve, remembered on disk for six hours in the layout that kubectls share
// (upstream: client-go/discovery/cached/disk/cached_discovery.go).
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { parseAnswer, type RestClient } from "../rest/client.ts";
import { type DiscoveredApis, discover } from "./discovery.ts";
import type { ApiGroup, ServerResource, ServerResourceList } from "./server-resource.ts";

const lifetimeMs = 6 * 3600 * 1000;

/** The folder of a server, below that of all. */
export const discoveryFolder = (cacheFolder: string, server: string): string =>
  join(cacheFolder, "discovery", server.replace(/^https?:\/\//, "").replace(/[^(\w/.)]/g, "_"));

export class CachedDiscovery {
  readonly #client: () => Promise<RestClient>;
  readonly #folder: string;
  readonly #clock: Clock;
  #known: Promise<DiscoveredApis> | undefined;
  #isFresh = false;

  constructor(client: () => Promise<RestClient>, folder: string, clock: Clock) {
    this.#client = client;
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Whether what is known was asked for just now: asking again would tell nothing new. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  apis(): Promise<DiscoveredApis> {
    this.#known ??= this.#load();
    return this.#known;
  }

  /** Forgets what is on disk and in memory. */
  invalidate(): void {
    this.#known = this.#ask();
  }

  async #load(): Promise<DiscoveredApis> {
    return this.#stored() ?? this.#ask();
  }

  async #ask(): Promise<DiscoveredApis> {
    const apis = await discover(await this.#client());
    this.#isFresh = true;
    this.#store(apis);
    return apis;
  }

  /** Undefined if anything is missing or too old: one request then tells everything. */
  #stored(): DiscoveredApis | undefined {
    const groupList = this.#read("servergroups.json");
    if (!groupList || !Array.isArray(groupList.groups)) return undefined;
    const groups = groupList.groups as readonly ApiGroup[];
    const resources = new Map<string, ServerResourceList>();
    for (const { groupVersion } of groups.flatMap(({ versions }) => versions)) {
      const found = this.#read(join(groupVersion, "serverresources.json"));
      if (!found) return undefined;
      resources.set(groupVersion, {
        groupVersion,
        resources: (found.resources ?? []) as readonly ServerResource[],
      });
    }
    return { groups, resources, failures: new Map() };
  }

  #read(name: string): Readonly<Record<string, unknown>> | undefined {
    const path = join(this.#folder, name);
    try {
      if (this.#clock.now() > statSync(path).mtimeMs + lifetimeMs) return undefined;
      const value: unknown = parseAnswer(readFileSync(path, "utf8"));
      return isObject(value) ? value : undefined;
    } catch (error) {
      // A cache that cannot be used is no cache.
      if (error instanceof SyntaxError || hasCode(error, "ENOENT", "ENOTDIR", "EACCES")) return undefined;
      throw error;
    }
  }

  #store({ groups, resources }: DiscoveredApis): void {
    try {
      this.#write("servergroups.json", { kind: "APIGroupList", apiVersion: "v1", groups });
      for (const list of resources.values())
        if (list.resources.length > 0)
          this.#write(join(list.groupVersion, "serverresources.json"), {
            kind: "APIResourceList",
            apiVersion: "v1",
            ...list,
          });
    } catch (error) {
      // Commands work without it, only slower: a folder that cannot be written is no reason to fail.
      if (!hasCode(error, "EACCES", "EROFS", "ENOENT", "ENOTDIR", "ENOSPC", "EPERM")) throw error;
    }
  }

  #write(name: string, value: object): void {
    const path = join(this.#folder, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify(value)}\n`, { mode: 0o660 });
    renameSync(draft, path);
  }
}
