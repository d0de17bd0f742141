import { TokenRequest } from "#api/authentication/v1/token-request.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import type { Clock } from "#base/clock.ts";
import { isReason } from "#base/errors.ts";
import type { Client } from "#client/client.ts";

const namespace = "kube-system";
const lifeSeconds = 3600;
/** A token is replaced when this part of its life is over. */
const renewAt = 0.8;

interface CachedToken {
  readonly token: Promise<string>;
  readonly at: number;
}

/** Tokens of service accounts in kube-system, asked for when they are first needed and again before they end. */
export class ControllerTokens {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #held = new Map<string, CachedToken>();

  /** The client must be allowed to make tokens, and service accounts where they are missing. */
  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async of(name: string): Promise<string> {
    const held = this.#held.get(name);
    const now = this.#clock.elapsed();
    if (held && now - held.at < lifeSeconds * 1000 * renewAt) return held.token;
    const token = this.#ask(name);
    this.#held.set(name, { token, at: now });
    token.catch(() => this.#held.delete(name)); // the waiting callers get the error; the next call tries again
    return token;
  }

  /** The server has rejected the token; its account may have been created again. */
  forget(name: string): void {
    this.#held.delete(name);
  }

  async #ask(name: string): Promise<string> {
    const metadata = { namespace, name };
    if (!(await this.#client.find(ServiceAccount, metadata)))
      try {
        await this.#client.create(ServiceAccount, { metadata });
      } catch (error) {
        if (!isReason(error, "AlreadyExists")) throw error;
      }
    const { status } = await this.#client.create(
      TokenRequest,
      { metadata, spec: { audiences: [], expirationSeconds: lifeSeconds } },
      { of: ServiceAccount, subresource: "token" },
    );
    return status.token;
  }
}
