// Notes once a minute what the metrics API tells of running containers.
import { Pod } from "#api/core/v1/pod.ts";
import { PodMetrics } from "#api/metrics/v1beta1/pod-metrics.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { Client } from "#client/client.ts";
import { keyOf } from "#client/object-key.ts";
import { parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { type AdmissionServer, ownUser } from "../server.ts";
import type { UsageHistory } from "./usage-history.ts";

const intervalMs = 60_000;

export class UsageSampler implements Component {
  readonly name = "usage sampler";
  readonly #server: AdmissionServer;
  readonly #log: Log | undefined;
  readonly #history: UsageHistory;
  /** When each pod was measured last: the same measurement counts once. */
  #measured: ReadonlyMap<string, string> = new Map();
  #isSilent = false;

  constructor(server: AdmissionServer, history: UsageHistory) {
    this.#server = server;
    this.#log = server.log?.with({ plugin: "InitialResources" });
    this.#history = history;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, request: transport } = this.#server;
    const client = new Client({ transport, user: ownUser, userAgent: "kube-apiserver", signal });
    for (;;) {
      await clock.sleep(intervalMs, signal);
      try {
        this.#note((await client.list(PodMetrics)).items);
        if (this.#isSilent) this.#log?.info("the metrics API answers again");
        this.#isSilent = false;
      } catch (error) {
        signal.throwIfAborted();
        // It may come later, with an add-on or with another server.
        if (!this.#isSilent)
          this.#log?.warn("the metrics API does not answer what pods use", { error: explain(error) });
        this.#isSilent = true;
      }
    }
  }

  #note(pods: readonly PodMetrics[]): void {
    const measured = new Map<string, string>();
    for (const { metadata, timestamp, containers } of pods) {
      const { namespace = "", name } = metadata;
      const key = keyOf(metadata);
      measured.set(key, timestamp);
      if (this.#measured.get(key) === timestamp) continue;
      const spec = this.#server.get(Pod, name, namespace)?.spec;
      for (const { name: container, usage } of containers) {
        const image = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find(
          (one) => one.name === container,
        )?.image;
        if (image === undefined || usage.cpu === undefined || usage.memory === undefined) continue;
        const used = { cpu: amountOf(usage.cpu) * 1000, memory: amountOf(usage.memory) };
        this.#history.add(namespace, image, used, this.#server);
      }
    }
    this.#measured = measured;
  }
}

const amountOf = (text: string): number => quantityToNumber(parseQuantity(text));
