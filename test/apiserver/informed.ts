// An informer of @kubernetes/client-node, and waiting for what it sees.
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";
import { systemClock } from "#base/clock.ts";

const RETRY_MS = 100;

export function configFrom(kubeconfig: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return config;
}

/** ConfigMaps of the default namespace, followed as the library's documentation says: started again after an error. */
export class Informed implements AsyncDisposable {
  readonly events: string[] = [];
  readonly #informer;
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  constructor(config: KubeConfig) {
    const api = config.makeApiClient(CoreV1Api);
    this.#informer = makeInformer<V1ConfigMap>(config, "/api/v1/namespaces/default/configmaps", () =>
      api.listNamespacedConfigMap({ namespace: "default" }),
    );
    const note = (verb: string) => (object: V1ConfigMap) => {
      this.events.push(`${verb} ${object.metadata?.name} ${object.data?.n ?? ""}`);
      for (const look of this.#waiting) look();
    };
    this.#informer.on("add", note("add"));
    this.#informer.on("update", note("update"));
    this.#informer.on("delete", note("delete"));
    this.#informer.on("error", () => this.#again());
  }

  start(): Promise<void> {
    return this.#informer.start();
  }

  /** Resolves when the informer's cache is as wanted. */
  until(isWanted: (cache: readonly V1ConfigMap[]) => boolean): Promise<void> {
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

  #again(): void {
    if (!this.#stopped) systemClock.after(RETRY_MS, () => void this.#informer.start());
  }
}
