// The file that says how the store is encrypted, read again while the server runs if that is asked for. Upstream:
// staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig/controller/controller.go.
import { readFileSync } from "node:fs";
import type { MetricRegistry } from "#base/metrics.ts";
import type { HealthCheck } from "#serving/health.ts";
import { encryptedStore, type StoreEncryption } from "#store/encryption/encrypted-store.ts";
import type { StoreEngine } from "#store/engine.ts";
import { parseEncryptionConfiguration } from "../encryption/configuration.ts";
import { storedResource } from "../encryption/resource-names.ts";
import { EncryptionProviders, type EncryptionWorld } from "./encryption-providers.ts";
import { reloadCounter } from "./reload-counter.ts";
import { reloadMs } from "./reloaded-file.ts";

export interface EncryptionFileOptions extends EncryptionWorld {
  readonly path: string;
  /** Whether the file is read again when it has changed. */
  readonly reloads: boolean;
  /** Where it is counted how often that was; nowhere by default. */
  readonly metrics?: MetricRegistry;
}

/** How often the key services of a new configuration are asked whether they are well, and for how long at least. */
const healthEveryMs = 100;
const healthForMs = 10_000;

export class EncryptionFile implements StoreEncryption {
  readonly #options: EncryptionFileOptions;
  readonly #count: (status: "success" | "failure") => void;
  readonly #end = new AbortController();
  #text: string;
  #current: EncryptionProviders;

  private constructor(options: EncryptionFileOptions, text: string, current: EncryptionProviders) {
    this.#options = options;
    this.#text = text;
    this.#current = current;
    const { metrics, reloads } = options;
    this.#count = reloads && metrics ? reloadCounter(metrics, "encryption", options.clock) : () => undefined;
  }

  /** Throws an Error that says what is wrong with the file. */
  static async open(options: EncryptionFileOptions): Promise<EncryptionFile> {
    const { path, reloads } = options;
    const text = readFileSync(path, "utf8");
    const file = new EncryptionFile(options, text, await EncryptionProviders.open(configuration(path, text), options));
    if (reloads) file.#lookLater();
    return file;
  }

  transformerOf(key: string) {
    return this.#current.transformerOf(key);
  }

  resourceOf(key: string): string {
    return this.#current.resourceOf(key);
  }

  /** Values are encrypted on their way into the store, and decrypted on their way out. With it this ends, too. */
  readonly around = (store: StoreEngine): StoreEngine => ({
    ...encryptedStore(store, this),
    close: () => store.close().finally(this.close),
  });

  /** Ends the looking, and the connections to key services. */
  readonly close = (): void => {
    this.#end.abort();
    this.#current.close();
  };

  get healthChecks(): readonly HealthCheck[] {
    const { reloads } = this.#options;
    if (!reloads && !this.#current.usesKms) return [];
    const services: HealthCheck = {
      name: "kms-providers",
      isNotOfLife: true,
      check: () => this.#current.check(),
    };
    const name = "poststarthook/start-encryption-provider-config-automatic-reload";
    return reloads ? [services, { name, check: async () => undefined }] : [services];
  }

  #lookLater(): void {
    const { clock } = this.#options;
    const { signal } = this.#end;
    const cancel = clock.after(reloadMs, () => {
      signal.removeEventListener("abort", cancel);
      void this.#look().finally(() => {
        if (!signal.aborted) this.#lookLater();
      });
    });
    signal.addEventListener("abort", cancel, { once: true });
  }

  /** What cannot be used is told in the log, and tried again the next time; what was read last goes on to count. */
  async #look(): Promise<void> {
    const { path, log, clock } = this.#options;
    const { signal } = this.#end;
    try {
      const text = readFileSync(path, "utf8");
      if (text === this.#text) return;
      const next = await EncryptionProviders.open(configuration(path, text), this.#options);
      try {
        await this.#untilWell(next);
      } catch (error) {
        next.close();
        throw error;
      }
      if (signal.aborted) return next.close();
      const before = this.#current;
      this.#text = text;
      this.#current = next;
      clock.after(before.graceMs, () => before.close());
      this.#count("success");
      log.info("the encryption configuration was read again", { path });
    } catch (error) {
      if (signal.aborted) return;
      this.#count("failure");
      log.error("the encryption configuration cannot be read again; what it said before goes on to count", {
        path,
        error,
      });
    }
  }

  async #untilWell(next: EncryptionProviders): Promise<void> {
    const { clock } = this.#options;
    const until = clock.elapsed() + Math.max(next.graceMs, healthForMs);
    for (;;) {
      try {
        return await next.check();
      } catch (cause) {
        if (clock.elapsed() >= until)
          throw new Error(
            `health check for new transformers failed: ${cause instanceof Error ? cause.message : cause}`,
          );
      }
      await clock.sleep(healthEveryMs, this.#end.signal);
    }
  }
}

/** Nothing is encrypted; what was before is not taken for plain text. */
export const unencrypted: Pick<EncryptionFile, "around" | "healthChecks" | "close"> = {
  around: (store) => encryptedStore(store, { transformerOf: () => undefined, resourceOf: storedResource }),
  healthChecks: [],
  close: () => undefined,
};

function configuration(path: string, text: string) {
  try {
    return parseEncryptionConfiguration(text);
  } catch (cause) {
    throw new Error(`encryption provider configuration file ${JSON.stringify(path)}`, { cause });
  }
}
