// Values whose keys a key service keeps: each carries the encrypted seed or key that it was encrypted with. Upstream:
// staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/envelope.go.
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import {
  type EncryptedKey,
  encryptedKeyProblem,
  type KmsPlugin,
  type KmsService,
} from "../../encryption/kms-plugin.ts";
import { joined, type ValueTransformer } from "../../encryption/value-transformer.ts";
import { aesGcm, seededGcm } from "../ciphers.ts";
import { EncryptedObject, keySource } from "./messages.ts";

export interface EnvelopeOptions {
  readonly plugin: KmsPlugin;
  readonly service: KmsService;
  readonly clock: Clock;
  readonly random: Random;
}

/** For so long a decrypted key is remembered after it was last learned. There are few: one for each key of the service and each start. */
const rememberMs = 24 * 60 * 60 * 1000;

const nothing = new Uint8Array();

interface RememberedKey {
  readonly transformer: ValueTransformer;
  readonly until: number;
}

export class EnvelopeTransformer implements ValueTransformer {
  readonly #options: EnvelopeOptions;
  readonly #keys = new Map<string, RememberedKey>();
  /** Calls under way: many values have one key. */
  readonly #asked = new Map<string, Promise<void>>();

  constructor(options: EnvelopeOptions) {
    this.#options = options;
  }

  prepare(stored: Uint8Array): Promise<void> | undefined {
    let object: EncryptedObject;
    try {
      object = decoded(stored);
      this.#options.plugin.writeKey; // without one nothing is read, either
    } catch {
      return undefined; // reading says what is wrong
    }
    const id = idOf(object, object.keySource);
    if (this.#keys.has(id)) return undefined;
    const asked = this.#asked.get(id) ?? this.#learn(id, object).finally(() => this.#asked.delete(id));
    this.#asked.set(id, asked);
    return asked;
  }

  read(stored: Uint8Array, key: string) {
    const object = decoded(stored);
    const { encrypted } = this.#options.plugin.writeKey;
    const known = this.#keys.get(idOf(object, object.keySource));
    if (!known) throw new Error("failed to decrypt DEK, error: the key service has not been asked");
    const { value } = known.transformer.read(object.encryptedData, key);
    return { value, isStale: object.keyId !== encrypted.keyId || object.keySource !== keySource.seed };
  }

  write(value: Uint8Array, key: string, head = nothing): Uint8Array {
    const { transformer, encrypted } = this.#options.plugin.validWriteKey;
    this.#remember(idOf(encrypted, keySource.seed), transformer);
    const encryptedData = transformer.write(value, key);
    return joined(head, EncryptedObject.encode({ ...encrypted, encryptedData, keySource: keySource.seed }));
  }

  async #learn(id: string, object: EncryptedObject): Promise<void> {
    const { service, random } = this.#options;
    const secret = await service.decrypt(random.uuid(), object).catch((cause) => {
      throw new Error(`failed to decrypt DEK, error: ${cause instanceof Error ? cause.message : cause}`, { cause });
    });
    if (object.keySource === keySource.seed) return this.#remember(id, seededGcm(secret, random));
    if (![16, 24, 32].includes(secret.length)) throw new Error(`crypto/aes: invalid key size ${secret.length}`);
    this.#remember(id, aesGcm(secret, random));
  }

  #remember(id: string, transformer: ValueTransformer): void {
    const now = this.#options.clock.elapsed();
    if (!this.#keys.has(id)) for (const [other, { until }] of this.#keys) if (until < now) this.#keys.delete(other);
    this.#keys.set(id, { transformer, until: now + rememberMs });
  }
}

function decoded(stored: Uint8Array): EncryptedObject {
  const object = EncryptedObject.decode(stored);
  if (object.keySource !== keySource.aesGcmKey && object.keySource !== keySource.seed)
    throw new Error(`unknown encryptedDEKSourceType: ${object.keySource}`);
  if (object.encryptedData.length === 0) throw new Error("encrypted data is empty");
  const problem = encryptedKeyProblem(object);
  if (problem !== undefined) throw new Error(problem);
  return object;
}

/** Equal for what decrypts to the same: the texts in it are JSON, so that none can pass for two. */
const idOf = ({ ciphertext, keyId, annotations }: EncryptedKey, source: number): string =>
  JSON.stringify([
    source,
    Buffer.from(ciphertext).toString("latin1"),
    keyId,
    ...annotations
      .map(({ key, value }) => [key, Buffer.from(value).toString("latin1")])
      .sort(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
  ]);
