// What an EncryptionConfiguration makes of a store: for each resource, the transformers of its values. Upstream:
// staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { StoreEncryption } from "#store/encryption/encrypted-store.ts";
import { KmsPlugin } from "#store/encryption/kms-plugin.ts";
import {
  aggregate,
  firstOf,
  identity,
  type PrefixedTransformer,
  type ValueTransformer,
} from "#store/encryption/value-transformer.ts";
import { aesCbc, aesGcm, drawnInBulk, secretbox, seedBytes, seededGcm } from "#store/host/ciphers.ts";
import { EnvelopeTransformer } from "#store/host/kms/envelope.ts";
import type { connectKms } from "#store/host/kms/service.ts";
import type { CipherType, EncryptionProvider, EncryptionRules, NamedSecret } from "../encryption/configuration.ts";
import {
  allOfGroup,
  allResources,
  keyHead,
  resourceName,
  resourceOfHead,
  storedResource,
} from "../encryption/resource-names.ts";

export interface EncryptionWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const ciphers = { aesgcm: aesGcm, aescbc: aesCbc, secretbox } as const;
/** How upstream's refusals call them. */
const families: Readonly<Record<CipherType, string>> = { aesgcm: "AES", aescbc: "AES", secretbox: "Secretbox" };

export class EncryptionProviders implements StoreEncryption {
  readonly #rules: ReadonlyMap<string, ValueTransformer>;
  readonly #plugins: readonly KmsPlugin[];
  readonly #end: AbortController;
  /** By the part of a key that tells its resource. */
  readonly #byHead = new Map<string, ValueTransformer | undefined>();
  /** For so long requests to key services may be under way. */
  readonly graceMs: number;

  private constructor(rules: EncryptionRules, world: EncryptionWorld, connect: typeof connectKms | undefined) {
    const maker = new TransformerMaker(world, connect);
    this.#rules = new Map(
      [...rules].map(([resource, providers]) => [resource, firstOf(maker.of(providers), unknownPrefix)]),
    );
    this.#plugins = maker.plugins;
    this.#end = maker.end;
    this.graceMs = 2 * maker.timeoutMs;
  }

  /** Asks each key service once. One that does not answer is no failure: it may come later. */
  static async open(rules: EncryptionRules, world: EncryptionWorld): Promise<EncryptionProviders> {
    const usesKms = [...rules.values()].some((all) => all.some(({ type }) => type === "kms"));
    const service = usesKms ? await import("#store/host/kms/service.ts") : undefined; // with gRPC: 10 MB that others do not need
    const providers = new EncryptionProviders(rules, world, service?.connectKms);
    for (const plugin of providers.#plugins) {
      await plugin
        .check()
        .catch((error) => world.log.error("a KMS plugin failed its health check", { plugin: plugin.name, error }));
      void plugin.run(providers.#end.signal);
    }
    return providers;
  }

  get usesKms(): boolean {
    return this.#plugins.length > 0;
  }

  transformerOf(key: string): ValueTransformer | undefined {
    const head = keyHead(key);
    if (head === undefined) return undefined;
    const known = this.#byHead.get(head);
    if (known || this.#byHead.has(head)) return known;
    const resource = resourceOfHead(head);
    const transformer =
      this.#rules.get(resourceName(resource)) ??
      this.#rules.get(allOfGroup(resource.group)) ??
      this.#rules.get(allResources);
    this.#byHead.set(head, transformer);
    return transformer;
  }

  resourceOf(key: string): string {
    return storedResource(key);
  }

  /** Rejects with what is wrong with the key services. */
  async check(): Promise<void> {
    const problems: string[] = [];
    for (const [i, plugin] of this.#plugins.entries())
      await plugin.check().catch((error) => problems.push(`kms-provider-${i}: ${error.message}`));
    const all = aggregate(problems);
    if (all !== undefined) throw new Error(all);
  }

  close(): void {
    this.#end.abort();
  }
}

/** Makes one transformer of each provider, however many resources it is for. */
class TransformerMaker {
  readonly plugins: KmsPlugin[] = [];
  readonly end = new AbortController();
  readonly #world: EncryptionWorld;
  readonly #connect: typeof connectKms | undefined;
  readonly #chance: Pick<Random, "bytes">;
  readonly #made = new Map<EncryptionProvider, PrefixedTransformer>();
  timeoutMs = 0;

  /** `connect` is there if any provider is a key service. */
  constructor(world: EncryptionWorld, connect: typeof connectKms | undefined) {
    this.#world = world;
    this.#connect = connect;
    this.#chance = drawnInBulk(world.random);
  }

  of(providers: readonly EncryptionProvider[]): readonly PrefixedTransformer[] {
    return providers.map((provider) => {
      const made = this.#made.get(provider) ?? this.#make(provider);
      this.#made.set(provider, made);
      return made;
    });
  }

  #make(provider: EncryptionProvider): PrefixedTransformer {
    if (provider.type === "identity") return { prefix: "", transformer: identity };
    if (provider.type === "kms") return this.#kms(provider);
    const { type, keys } = provider;
    const named = keys.map((key) => this.#keyed(type, key));
    const transformer = firstOf(named, (stored) => unknownKey(type, stored));
    return { prefix: `k8s:enc:${type}:v1:`, transformer };
  }

  #keyed(type: CipherType, { name, secret }: NamedSecret): PrefixedTransformer {
    const transformer = ciphers[type](secret, this.#chance);
    return { prefix: `${name}:`, transformer, name: `${type} key ${JSON.stringify(name)}` };
  }

  #kms({ name, endpoint, timeoutMs }: EncryptionProvider & { readonly type: "kms" }): PrefixedTransformer {
    const { clock, random } = this.#world;
    if (!this.#connect) throw new Error(`there is no way to the key service ${JSON.stringify(name)}`);
    const service = this.#connect({ endpoint, timeoutMs }, clock);
    this.end.signal.addEventListener("abort", () => service.close(), { once: true });
    const seeded = (seed: Uint8Array) => seededGcm(seed, this.#chance);
    const plugin = new KmsPlugin({ ...this.#world, name, service, seeded, seedBytes });
    this.plugins.push(plugin);
    this.timeoutMs += timeoutMs;
    return {
      prefix: `k8s:enc:kms:v2:${name}:`,
      transformer: new EnvelopeTransformer({ plugin, service, clock, random }),
      name: `kms provider ${JSON.stringify(name)}`,
    };
  }
}

const unknownKey = (type: CipherType, stored: Uint8Array): string =>
  `no matching key was found for the provided ${families[type]} transformer: the value names ${type} key ${JSON.stringify(headOf(stored, 1))}`;

const unknownPrefix = (stored: Uint8Array): string => `no matching prefix found${prefixWords(stored)}`;

/** Which provider and key wrote a value, as far as it says so. */
const prefixWords = (stored: Uint8Array): string => {
  const [, provider, name] = /^k8s:enc:([^:]*:v\d):(.*)$/.exec(headOf(stored, 5)) ?? [];
  return provider === undefined ? "" : `: the value names ${provider} key ${JSON.stringify(name)}`;
};

/** Everything before the colon of this number, if there is one early on. */
function headOf(stored: Uint8Array, colons: number): string {
  const text = new TextDecoder().decode(stored.subarray(0, 300));
  return text.split(":").slice(0, colons).join(":");
}
