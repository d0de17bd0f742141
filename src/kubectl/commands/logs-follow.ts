// Following the logs of pods that come and go: a workload's pods are replaced, and their containers start again.
import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import { watchResource } from "../resources/watch-resource.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { podMapping, statusOf } from "../workloads/pods.ts";

export interface FollowOptions {
  readonly namespace: string;
  readonly labelSelector: string;
  /** Whether there will always be another pod; otherwise it ends with the last one. */
  readonly isEndless: boolean;
  /** Only one log at a time: the next begins when the one before is over. */
  readonly isSingle: boolean;
  /** How many logs may be followed at once. */
  readonly most: number;
  /** What is followed from the beginning. */
  readonly first: readonly FollowedLog[];
  /** The logs of a pod. */
  logsOf(pod: KubeObject): readonly FollowedLog[];
}

export interface FollowedLog {
  readonly pod: KubeObject;
  readonly container: string;
  /** Resolves when there will be no more of it. */
  copy(): Promise<void>;
}

const pauseMs = 1000;

/** Rejects as the copies that were begun first do; later ones that fail are left alone, their pods may be gone. */
export async function followLogs(session: Session, options: FollowOptions): Promise<void> {
  const follower = new Follower(session, options);
  await follower.run();
}

class Follower {
  readonly #session: Session;
  readonly #options: FollowOptions;
  readonly #seen = new Set<string>();
  readonly #pods = new Map<string, KubeObject>();
  readonly #over = new AbortController();
  #active = 0;
  #failure: unknown;

  constructor(session: Session, options: FollowOptions) {
    this.#session = session;
    this.#options = options;
  }

  async run(): Promise<void> {
    for (const log of this.#options.first) {
      for (const key of instancesOf(log)) this.#seen.add(key);
      const uid = stringIn(metadataOf(log.pod).uid);
      this.#pods.set(uid, log.pod);
      this.#begin(log, true);
    }
    await this.#watch();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #watch(): Promise<void> {
    const { namespace, labelSelector } = this.#options;
    const { clock, signal } = this.#session.io;
    while (!this.#over.signal.aborted) {
      try {
        const request = { mapping: podMapping, namespace, labelSelector, signal: this.#over.signal };
        for await (const { type, object } of watchResource(await this.#session.client(), request))
          this.#changed(type, { apiVersion: "v1", kind: "Pod", ...object });
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (this.#over.signal.aborted) return;
        // Whoever may read logs may not be allowed to watch pods: what is followed already goes on.
        if (error instanceof ApiError && error.code < 500 && error.code !== 410) return this.#untilOver();
      }
      if (!this.#over.signal.aborted)
        await clock.sleep(pauseMs, AbortSignal.any([signal, this.#over.signal])).catch(() => undefined); // ends with what it waits for
      signal.throwIfAborted();
    }
  }

  #untilOver(): Promise<void> {
    if (this.#active === 0) return Promise.resolve();
    return new Promise((done) => this.#over.signal.addEventListener("abort", () => done(), { once: true }));
  }

  #changed(type: string, pod: KubeObject): void {
    const uid = stringIn(metadataOf(pod).uid);
    if (type === "DELETED") this.#pods.delete(uid);
    else if (type === "ADDED" || type === "MODIFIED") this.#pods.set(uid, pod);
    this.#beginMore();
    this.#endIfOver();
  }

  #beginMore(): void {
    const { most, isSingle } = this.#options;
    const room = isSingle ? 1 : most;
    for (const pod of this.#pods.values()) {
      if (metadataOf(pod).deletionTimestamp !== undefined) continue;
      for (const log of this.#options.logsOf(pod)) {
        const [instance] = runningInstances(log);
        if (instance === undefined || this.#seen.has(instance) || this.#active >= room) continue;
        this.#seen.add(instance);
        this.#begin(log, false);
      }
    }
  }

  #begin(log: FollowedLog, isFirst: boolean): void {
    this.#active++;
    log.copy().then(
      () => this.#ended(),
      (error: unknown) => {
        if (isFirst) this.#fail(error);
        this.#ended();
      },
    );
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#over.abort();
  }

  #ended(): void {
    this.#active--;
    this.#beginMore();
    this.#endIfOver();
  }

  #endIfOver(): void {
    if (this.#active > 0 || this.#options.isEndless) return;
    const isAny = [...this.#pods.values()].some(
      (pod) => !["Succeeded", "Failed"].includes(stringIn(statusOf(pod).phase)),
    );
    if (!isAny) this.#over.abort();
  }
}

const statusesOf = ({ pod, container }: FollowedLog) => {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = statusOf(pod);
  return [initContainerStatuses, containerStatuses, ephemeralContainerStatuses]
    .flat()
    .filter(isObject)
    .filter(({ name }) => name === container);
};

const keyOf = ({ pod, container }: FollowedLog, status: Readonly<Record<string, unknown>>): string =>
  `${metadataOf(pod).uid}/${container}/${status.restartCount ?? 0}`;

/** One for each time the container was started: each has a log of its own. */
const instancesOf = (log: FollowedLog): readonly string[] => statusesOf(log).map((status) => keyOf(log, status));
const runningInstances = (log: FollowedLog): readonly string[] =>
  statusesOf(log)
    .filter(({ state }) => isObject(state) && state.running !== undefined)
    .map((status) => keyOf(log, status));
