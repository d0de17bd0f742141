// Static pods from an address: a Pod or a list of pods, in YAML or JSON.
// Upstream: pkg/kubelet/config/http.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { type StaticPodSource, staticPod } from "../static-pods/static-pod.ts";

export interface StaticUrlOptions {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How often it is read; defaults to upstream's httpCheckFrequency. */
  readonly everyMs?: number;
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}

const usualMs = 20_000;
const patienceMs = 10_000;
const maxBytes = 10 * 2 ** 20;

export class StaticUrl implements StaticPodSource, Component {
  readonly name = "static pods by address";
  changed: () => void = () => undefined;
  readonly #options: StaticUrlOptions;
  /** What it said when it was last understood. */
  #known: readonly Pod[] = [];
  #problem = "";

  constructor(options: StaticUrlOptions) {
    this.#options = options;
  }

  /** Whoever does not answer, or answers nonsense, takes no pod away. */
  async read(): Promise<readonly Pod[]> {
    const { url, log } = this.#options;
    try {
      const pods = (await this.#documents()).map((document) => this.#pod(document));
      this.#known = pods.map((pod) => this.#known.find(({ metadata }) => metadata.uid === pod.metadata.uid) ?? pod);
      this.#problem = "";
    } catch (error) {
      const why = explain(error);
      if (why !== this.#problem) log.error("static pods cannot be read", { url, error: why });
      this.#problem = why;
    }
    return this.#known;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs = usualMs } = this.#options;
    for (;;) {
      await clock.sleep(everyMs, signal);
      this.changed();
    }
  }

  async #documents(): Promise<readonly unknown[]> {
    const { url, headers = {} } = this.#options;
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(patienceMs) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    if (text.length > maxBytes) throw new Error(`${url} has more than ${maxBytes} bytes`);
    if (text.trim() === "") throw new Error(`${url}: zero-length data received`);
    const { value } = parseYaml(text);
    const items: unknown = typeof value === "object" && value !== null && "items" in value ? value.items : undefined;
    return Array.isArray(items) ? items : [value];
  }

  #pod(document: unknown): Pod {
    const { url, node, clock } = this.#options;
    const content =
      typeof document === "object" && document !== null ? { apiVersion: "v1", kind: "Pod", ...document } : document;
    const bytes = new TextEncoder().encode(JSON.stringify(content));
    return staticPod(bytes, { path: url, source: "http", node, now: clock.now() });
  }
}
