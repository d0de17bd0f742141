// An informer of @kubernetes/client-node, and waiting for what it sees.
import {
  CoreV1Api,
  KubeConfig,
  type KubernetesObject,
  type ListPromise,
  makeInformer,
  type V1ConfigMap,
} from "@kubernetes/client-node";
import { systemClock } from "#base/clock.ts";

const RETRY_MS = 100;

export function configFrom(kubeconfig: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return config;
}

/** What is under a path, followed as the library's documentation says: started again after an error. */
export class Informed<T extends KubernetesObject> implements AsyncDisposable {
  readonly #informer;
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  constructor(config: KubeConfig, path: string, list: ListPromise<T>) {
    this.#informer = makeInformer<T>(config, path, list);
    for (const verb of ["add", "update", "delete"] as const)
      this.#informer.on(verb, (object) => {
        this.heard(verb, object);
        for (const look of this.#waiting) look();
      });
    this.#informer.on("error", () => this.#again());
  }

  start(): Promise<void> {
    return this.#informer.start();
  }

  /** Resolves when the informer's cache is as wanted. */
  until(isWanted: (cache: readonly T[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isWanted(this.#informer.list())) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await this.#informer.stop();
  }

  protected heard(_verb: "add" | "update" | "delete", _object: T): void {
    // For those who want to know each event, too.
  }

  #again(): void {
    if (!this.#stopped) systemClock.after(RETRY_MS, () => void this.#informer.start());
  }
}

/** ConfigMaps of the default namespace, and what was heard of them. */
export class InformedMaps extends Informed<V1ConfigMap> {
  readonly events: string[] = [];

  constructor(config: KubeConfig) {
    const api = config.makeApiClient(CoreV1Api);
    super(config, "/api/v1/namespaces/default/configmaps", () => api.listNamespacedConfigMap({ namespace: "default" }));
  }

  protected override heard(verb: string, { metadata, data }: V1ConfigMap): void {
    this.events.push(`${verb} ${metadata?.name} ${data?.n ?? ""}`);
  }
}
