// A key service beside the server, version 2 of its API: what it is asked, how often, and which key for data follows from its answers.
// Data is encrypted with keys made of a seed; the service encrypts the seed, and names the key it did that with. When it names another
// one, a new seed is drawn. Upstream: staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go (kmsv2PluginProbe).
import type { Clock } from "#base/clock.ts";
import { hex } from "#base/hex.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { sha256 } from "#base/sha256.ts";
import { aggregate, type ValueTransformer } from "./value-transformer.ts";

export interface KmsStatus {
  readonly version: string;
  readonly healthz: string;
  readonly keyId: string;
}

/** A seed or key that the service has encrypted, with all that it wants back to decrypt it. */
export interface EncryptedKey {
  readonly ciphertext: Uint8Array;
  readonly keyId: string;
  readonly annotations: readonly { readonly key: string; readonly value: Uint8Array }[];
}

/** Calls reject when the service does not answer in time. */
export interface KmsService {
  status(): Promise<KmsStatus>;
  encrypt(uid: string, plaintext: Uint8Array): Promise<EncryptedKey>;
  decrypt(uid: string, encrypted: EncryptedKey): Promise<Uint8Array>;
  close(): void;
}

/** What data is encrypted with at present. */
export interface KmsWriteKey {
  readonly transformer: ValueTransformer;
  readonly encrypted: EncryptedKey;
  /** After this time nothing more is written with it. */
  readonly expiresAt: number;
}

export interface KmsPluginOptions {
  readonly name: string;
  readonly service: KmsService;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Encrypts with keys made of this seed. */
  readonly seeded: (seed: Uint8Array) => ValueTransformer;
  readonly seedBytes: number;
}

/** How often the service is asked, while all is well and while not. */
const healthyEveryMs = 60_000;
const unhealthyEveryMs = 10_000;
/** For so long an answer is believed by those who ask how the service is. */
const healthyMs = 20_000;
const unhealthyMs = 3_000;
/** For so long after it was last confirmed a key is written with. */
const writeKeyMs = 180_000;

interface Outcome {
  readonly at: number;
  readonly error: Error | undefined;
}

export class KmsPlugin {
  readonly name: string;
  readonly #options: KmsPluginOptions;
  #writeKey: KmsWriteKey | undefined;
  /** Must not change once the service has said it. */
  #version: string | undefined;
  #last: Outcome | undefined;
  #asking: Promise<void> | undefined;

  constructor(options: KmsPluginOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Throws until the service has answered once. Also what is expired decrypts. */
  get writeKey(): KmsWriteKey {
    if (!this.#writeKey) throw new Error("got unexpected nil transformer");
    return this.#writeKey;
  }

  /** The same for those who write. */
  get validWriteKey(): KmsWriteKey {
    const { writeKey } = this;
    const now = this.#options.clock.now();
    if (now <= writeKey.expiresAt) return writeKey;
    throw new Error(
      `encryptedDEKSource with keyID hash ${quotedHash(writeKey.encrypted.keyId)} expired at ${time(writeKey.expiresAt)} (current time is ${time(now)})`,
    );
  }

  /** Rejects with what is wrong with the service. It is asked anew only if the last answer is old. */
  async check(): Promise<void> {
    const { clock } = this.#options;
    const last = this.#last;
    if (last && clock.elapsed() - last.at < (last.error ? unhealthyMs : healthyMs)) {
      if (last.error) throw last.error;
      return;
    }
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
  }

  /** Asks the service again and again until the signal aborts, so that a change of its key is noticed. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(this.#last?.error ? unhealthyEveryMs : healthyEveryMs, signal).catch(() => undefined); // aborted: the loop ends
      if (signal.aborted) return;
      await this.check().catch((error) => {
        if (!signal.aborted) log.error("a KMS plugin failed its health check", { plugin: this.name, error });
      });
    }
  }

  async #ask(): Promise<void> {
    const { clock, service } = this.#options;
    try {
      const status = await service.status().catch((cause) => {
        throw new Error(
          `failed to perform status section of the healthz check for KMS Provider ${this.name}, error: ${textOf(cause)}`,
          { cause },
        );
      });
      await this.#follow(status);
      this.#last = { at: clock.elapsed(), error: undefined };
    } catch (error) {
      this.#last = { at: clock.elapsed(), error: error as Error }; // both of the above throw errors
      throw error;
    }
  }

  async #follow({ version, healthz, keyId }: KmsStatus): Promise<void> {
    const problems: string[] = [];
    if (healthz !== "ok") problems.push(`got unexpected healthz status: ${healthz}`);
    if (version !== "v2" && version !== "v2beta1") problems.push(`expected KMSv2 API version v2, got ${version}`);
    else {
      this.#version ??= version;
      if (this.#version !== version)
        problems.push(
          `KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`,
        );
    }
    const wrongId = keyIdProblem(keyId);
    if (wrongId !== undefined) problems.push(`got invalid KMSv2 KeyID hash ${quotedHash(keyId)}: ${wrongId}`);
    else await this.#rotate(keyId).catch((error) => problems.push(textOf(error)));
    const all = aggregate(problems);
    if (all !== undefined) throw new Error(`kmsv2 Provider ${this.name} is not healthy, error: ${all}`);
  }

  /** While the service names the same key, the seed stays. If a new one cannot be had, the old one is good until it expires. */
  async #rotate(keyId: string): Promise<void> {
    const { clock, random, service, seeded, seedBytes } = this.#options;
    const before = this.#writeKey;
    // Counted from before the call: this is how long a seed may outlive its key at most.
    const expiresAt = clock.now() + writeKeyMs;
    if (before?.encrypted.keyId === keyId) {
      this.#writeKey = { ...before, expiresAt };
      return;
    }
    const uid = random.uuid();
    const seed = random.bytes(seedBytes);
    let encryptedWith = "";
    let problem = "<nil>";
    try {
      const encrypted = await service.encrypt(uid, seed).catch((cause) => {
        throw new Error(`failed to encrypt DEK, error: ${textOf(cause)}`);
      });
      encryptedWith = encrypted.keyId;
      const wrong = encryptedKeyProblem(encrypted);
      if (wrong !== undefined) throw new Error(wrong);
      if (encryptedWith === keyId) {
        this.#writeKey = { transformer: seeded(seed), encrypted, expiresAt };
        return;
      }
    } catch (error) {
      problem = textOf(error);
    }
    throw new Error(
      `failed to rotate DEK uid=${JSON.stringify(uid)}, useSeed=true, errState=${before ? "<nil>" : "got unexpected nil transformer"}, errGen=${problem}, statusKeyIDHash=${quotedHash(keyId)}, encryptKeyIDHash=${quotedHash(encryptedWith)}, stateKeyIDHash=${quotedHash(before?.encrypted.keyId ?? "")}, expirationTimestamp=${before ? time(before.expiresAt) : "0001-01-01T00:00:00Z"}`,
    );
  }
}

const encoder = new TextEncoder();
const mostKeyIdBytes = 1024;
const mostKeyBytes = 1024;
const mostAnnotationBytes = 32 * 1024;

function keyIdProblem(keyId: string): string | undefined {
  const { length } = encoder.encode(keyId);
  if (length === 0) return "keyID is empty";
  return length > mostKeyIdBytes
    ? `keyID is ${length} bytes, which exceeds the max size of ${mostKeyIdBytes}`
    : undefined;
}

/** What is wrong with what the service has encrypted, or with what the store has of it. */
export function encryptedKeyProblem({ ciphertext, keyId, annotations }: EncryptedKey): string | undefined {
  const ofSource = (text: string) => `failed to validate encrypted DEK source: ${text}`;
  if (ciphertext.length === 0) return ofSource("encrypted DEK source is empty");
  if (ciphertext.length > mostKeyBytes)
    return ofSource(
      `encrypted DEK source is ${ciphertext.length} bytes, which exceeds the max size of ${mostKeyBytes}`,
    );
  const wrongId = keyIdProblem(keyId);
  if (wrongId !== undefined) return `failed to validate key id: ${wrongId}`;
  const problems = annotations.flatMap(({ key }) => domainProblem(key) ?? []);
  const total = annotations.reduce((sum, { key, value }) => sum + encoder.encode(key).length + value.length, 0);
  if (total > mostAnnotationBytes)
    problems.push(`total size of annotations is ${total}, which exceeds the max size of ${mostAnnotationBytes}`);
  const all = aggregate(problems);
  return all === undefined ? undefined : `failed to validate annotations: ${all}`;
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = new RegExp(`^${label}(\\.${label})*$`);

function domainProblem(name: string): string | undefined {
  if (name === "") return "annotations: Required value";
  const invalid = (why: string) => `annotations: Invalid value: ${JSON.stringify(name)}: ${why}`;
  const bare = name.endsWith(".") ? name.slice(0, -1) : name;
  if (bare.length > 253) return invalid("must be no more than 253 characters");
  if (!subdomain.test(bare))
    return invalid(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
  return bare.includes(".") ? undefined : invalid("should be a domain with at least two segments separated by dots");
}

/** Ids of keys are not for logs. */
const quotedHash = (keyId: string): string => (keyId === "" ? '""' : `"sha256:${hex(sha256(keyId))}"`);

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
