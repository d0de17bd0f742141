// The keys of another issuer: found by its discovery document, and read again when they are old or a token names one that is not among them.
import { Agent, get } from "node:https";
import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from "jose";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import type { Log } from "#base/log.ts";
import { parseJson } from "#schema/json.ts";
import { TokenError } from "#serving/authentication.ts";
import { trustAsGo } from "#wire/host/trust.ts";
import type { IssuerKeys } from "../authentication/jwt/authenticator.ts";
import type { JwtSettings } from "../authentication/jwt/settings.ts";

/** A key that was withdrawn is believed for so long at most, as long as the issuer can be asked. */
const freshMs = 60_000;
/** Where it cannot, its last keys are believed for so long. */
const staleMs = 3_600_000;
/** A key that we do not have yet is asked for no more often than this, so that nobody can make us flood an issuer. */
const againMs = 1000;
const timeoutMs = 10_000;
const mostBytes = 1024 * 1024;
const mostKeys = 200;

interface KnownKeys {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  readonly readAt: number;
}

export class RemoteIssuerKeys implements IssuerKeys {
  readonly #issuer: JwtSettings["issuer"];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #agent: Agent;
  #keySetUrl: URL | undefined;
  #known: KnownKeys | undefined;
  #reading: Promise<void> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(issuer: JwtSettings["issuer"], clock: Clock, log: Log) {
    this.#issuer = issuer;
    this.#clock = clock;
    this.#log = log;
    this.#agent = new Agent({
      keepAlive: false,
      ...trustAsGo,
      ...(issuer.certificateAuthority && { ca: issuer.certificateAuthority }),
    });
  }

  /** Reads the keys before they are needed. */
  begin(): void {
    void this.#refresh();
  }

  async verify(token: string, algorithms: readonly string[]): Promise<Uint8Array> {
    if (this.#ageMs() > freshMs) await this.#refresh();
    if (this.#ageMs() > staleMs) this.#known = undefined;
    try {
      return await this.#verifyNow(token, algorithms);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw asTokenError(error);
    }
    // It may have been signed with a key that is new.
    await this.#refresh();
    try {
      return await this.#verifyNow(token, algorithms);
    } catch (error) {
      throw asTokenError(error);
    }
  }

  #ageMs(): number {
    return this.#known ? this.#clock.elapsed() - this.#known.readAt : Number.POSITIVE_INFINITY;
  }

  async #verifyNow(token: string, algorithms: readonly string[]): Promise<Uint8Array> {
    if (!this.#known) throw new TokenError("oidc: authenticator not initialized");
    const options = { algorithms: [...algorithms] };
    try {
      return (await compactVerify(token, this.#known.find, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error) {
        try {
          return (await compactVerify(token, key, options)).payload;
        } catch (again) {
          if (!(again instanceof errors.JWSSignatureVerificationFailed)) throw again; // of another key, or of none
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  /** One reading at a time, and not too often. Does not fail: what is known stays. */
  async #refresh(): Promise<void> {
    if (!this.#reading) {
      if (this.#clock.elapsed() - this.#triedAt < againMs) return;
      this.#triedAt = this.#clock.elapsed();
      this.#reading = this.#read()
        .catch((error: unknown) =>
          this.#log.warn("the keys of an issuer cannot be read", { issuer: this.#issuer.url, error: explain(error) }),
        )
        .finally(() => {
          this.#reading = undefined;
        });
    }
    await this.#reading;
  }

  async #read(): Promise<void> {
    this.#keySetUrl ??= await this.#discover();
    const keys = await this.#json(this.#keySetUrl);
    if (!Array.isArray(keys.keys) || keys.keys.length > mostKeys) throw new Error("the issuer has no key set");
    this.#known = { find: createLocalJWKSet(keys as unknown as JSONWebKeySet), readAt: this.#clock.elapsed() };
  }

  async #discover(): Promise<URL> {
    const { url, discoveryUrl } = this.#issuer;
    const place = discoveryUrl ?? `${url.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const document = await this.#json(new URL(place));
    if (document.issuer !== url)
      throw new Error(`the issuer calls itself ${JSON.stringify(document.issuer)}, not ${JSON.stringify(url)}`);
    const keySet = typeof document.jwks_uri === "string" ? URL.parse(document.jwks_uri) : undefined;
    if (keySet?.protocol !== "https:") throw new Error("the issuer does not say where its keys are");
    return keySet;
  }

  /** Redirects are not followed: they would let an issuer send us anywhere. */
  #json(url: URL): Promise<Readonly<Record<string, unknown>>> {
    return new Promise((resolve, reject) => {
      const request = get(url, { agent: this.#agent, headers: { accept: "application/json" } }, (response) => {
        const parts: Buffer[] = [];
        let size = 0;
        response.on("data", (part: Buffer) => {
          size += part.length;
          parts.push(part);
          if (size > mostBytes) request.destroy(new Error(`what ${url.host} answers is too large`));
        });
        response.on("error", fail);
        response.on("end", () => {
          cancel();
          if (response.statusCode !== 200) return reject(new Error(`${url.host} answered ${response.statusCode}`));
          try {
            const { value } = parseJson(Buffer.concat(parts).toString());
            if (!isObject(value)) throw new Error(`${url.host} did not answer with an object`);
            resolve(value);
          } catch (error) {
            reject(error);
          }
        });
      });
      const cancel = this.#clock.after(timeoutMs, () =>
        request.destroy(new Error(`${url.host} did not answer within ${timeoutMs} ms`)),
      );
      const fail = (error: Error): void => {
        cancel();
        reject(error);
      };
      request.on("error", fail);
    });
  }
}

function asTokenError(error: unknown): unknown {
  if (error instanceof errors.JOSEError) return new TokenError(`oidc: verify token: ${error.message}`);
  // jose throws TypeErrors for what is no token.
  return error instanceof TypeError ? new TokenError("oidc: malformed token") : error;
}
