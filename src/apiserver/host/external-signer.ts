// Tokens of service accounts that a service of others signs: it has the private key, and tells the public ones. Follows
// pkg/serviceaccount/externaljwt/plugin upstream; numbers as in staging/src/k8s.io/externaljwt/apis/v1/api.proto.
import { createPublicKey } from "node:crypto";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { bool, bytes, int, many, message, text } from "#base/host/protobuf.ts";
import { type SocketRpc, socketRpc } from "#base/host/socket-rpc.ts";
import { isObject } from "#base/is-object.ts";
import type { Log } from "#base/log.ts";
import { parseJson } from "#schema/json.ts";
import type { TokenKeys } from "../authentication/service-account-tokens.ts";
import { algorithmOf, claimedIssuerOf, keyIdOf, type VerificationKey, verifiedBy } from "./token-keys.ts";

export const SignRequest = message("SignJWTRequest", { claims: text(1) });
export const SignResponse = message("SignJWTResponse", { header: text(1), signature: text(2) });
const Key = message("Key", { keyId: text(1), key: bytes(2), isUnpublished: bool(3) });
export const KeysRequest = message("FetchKeysRequest", {});
export const KeysResponse = message("FetchKeysResponse", { keys: many(1, Key), refreshSeconds: int(3) });
export const MetadataRequest = message("MetadataRequest", {});
export const MetadataResponse = message("MetadataResponse", { maxSeconds: int(1) });
export const signerService = "v1.ExternalJWTSigner";

export interface ExternalSignerOptions {
  /** `unix:///run/signer.sock` */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

const timeoutMs = 60_000;
/** When keys are asked for again that could not be had. */
const againMs = 10_000;
/** Unknown keys are asked for no more often than this, so that nobody can make us flood the service. */
const unknownMs = 1000;
const leastSeconds = 600;
const longestKeyId = 1024;
const algorithms = ["RS256", "ES256", "ES384", "ES512"];

/** Resolves when the service has told its keys. */
export async function externalSigner(options: ExternalSignerOptions): Promise<TokenKeys> {
  const { endpoint, clock } = options;
  const rpc = socketRpc({ endpoint, service: signerService, timeoutMs, clock });
  try {
    const { maxSeconds } = await rpc.call("Metadata", MetadataRequest, MetadataResponse, {});
    if (maxSeconds < leastSeconds)
      throw new Error(`tokens live ${maxSeconds} s at most, and must be able to live ${leastSeconds} s`);
    const keys = new SignerKeys(rpc, options, maxSeconds);
    await keys.begin();
    return keys;
  } catch (cause) {
    rpc.close();
    throw new Error(`the signer of service account tokens at ${endpoint} cannot be used: ${explain(cause)}`, { cause });
  }
}

interface SignerKey extends VerificationKey {
  readonly id: string;
  /** Good for older tokens alone: others are not told of it. */
  readonly isUnpublished: boolean;
}

class SignerKeys implements TokenKeys {
  readonly maxSeconds: number;
  readonly claimedIssuer = claimedIssuerOf;
  readonly #rpc: SocketRpc;
  readonly #options: ExternalSignerOptions;
  #keys: readonly SignerKey[] = [];
  #staleAt = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(rpc: SocketRpc, options: ExternalSignerOptions, maxSeconds: number) {
    this.#rpc = rpc;
    this.#options = options;
    this.maxSeconds = maxSeconds;
  }

  async begin(): Promise<void> {
    await this.#read();
    const { signal, clock, log } = this.#options;
    let cancel: () => void;
    const refresh = (): void => {
      this.#read().then(
        () => {
          cancel = this.#later(refresh);
        },
        (error: unknown) => {
          log.warn("the keys of the signer cannot be read; those that are known stay good", { error: explain(error) });
          cancel = clock.after(againMs, refresh);
        },
      );
    };
    cancel = this.#later(refresh);
    signal.addEventListener(
      "abort",
      () => {
        cancel();
        this.#rpc.close();
      },
      { once: true },
    );
  }

  get keySet() {
    const published = this.#keys.filter(({ isUnpublished }) => !isUnpublished);
    return {
      keys: published.map(({ id, key, alg }) => ({ use: "sig", kid: id, alg, ...key.export({ format: "jwk" }) })),
    };
  }

  get keySetSeconds(): number {
    return Math.max(0, Math.floor((this.#staleAt - this.#options.clock.elapsed()) / 1000));
  }

  async sign(claims: object): Promise<string> {
    const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
    const { header, signature } = await this.#rpc.call("Sign", SignRequest, SignResponse, { claims: payload });
    const kid = keyIdIn(header);
    if ((await this.#find(kid)).some(({ isUnpublished }) => isUnpublished))
      throw new Error(`the signer used the key ${JSON.stringify(kid)}, which it does not publish`);
    if (signature === "") throw new Error("the signer did not sign");
    return `${header}.${payload}.${signature}`;
  }

  async verify(token: string): Promise<Uint8Array> {
    const kid = keyIdOf(token);
    return verifiedBy(kid === undefined ? this.#keys : await this.#find(kid), token);
  }

  async #find(kid: string): Promise<readonly SignerKey[]> {
    const find = () => this.#keys.filter(({ id }) => id === kid);
    const found = find();
    if (found.length > 0 || this.#options.clock.elapsed() - this.#readAt < unknownMs) return found;
    try {
      await this.#read();
    } catch (error) {
      this.#options.log.warn("the keys of the signer cannot be read", { error: explain(error) });
    }
    return find();
  }

  /** Runs when the keys should be read again, unless the returned function is called first. */
  #later(run: () => void): () => void {
    const { clock } = this.#options;
    return clock.after(Math.max(0, this.#staleAt - clock.elapsed()), run);
  }

  /** One reading at a time. */
  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<void> {
    const { clock } = this.#options;
    this.#readAt = clock.elapsed();
    const { keys, refreshSeconds } = await this.#rpc.call("FetchKeys", KeysRequest, KeysResponse, {});
    if (refreshSeconds <= 0) throw new Error(`the signer wants its keys to be read again after ${refreshSeconds} s`);
    if (keys.length === 0) throw new Error("the signer has no keys");
    this.#keys = keys.map(({ keyId, key: der, isUnpublished }) => {
      if (keyId === "" || keyId.length > longestKeyId)
        throw new Error(`the signer has a key whose id is ${JSON.stringify(keyId)}`);
      const key = createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" });
      return { id: keyId, key, alg: algorithmOf(key), isUnpublished };
    });
    this.#staleAt = clock.elapsed() + refreshSeconds * 1000;
  }
}

/** The id of the key in the header of a token that the signer made. Throws where it has anything else than it should. */
function keyIdIn(header: string): string {
  const { value } = parseJson(Buffer.from(header, "base64url").toString());
  if (!isObject(value)) throw new Error("the signer answered with a header that is no object");
  const { alg, kid, typ, ...others } = value as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`the signer put ${JSON.stringify(other)} into the header of a token`);
  if (typ !== "JWT") throw new Error(`the signer says that a token is of type ${JSON.stringify(typ)}, not JWT`);
  if (typeof alg !== "string" || !algorithms.includes(alg))
    throw new Error(`the signer signs by ${JSON.stringify(alg)}, which is none of ${algorithms.join(", ")}`);
  if (typeof kid !== "string" || kid === "" || kid.length > longestKeyId)
    throw new Error("the signer does not say which key it used");
  return kid;
}
