// A cache of service account tokens that are bound to pods. A token is renewed after 80 % of its life, or after a day.
// Upstream: pkg/kubelet/token/token_manager.go.
import { TokenRequest } from "#api/authentication/v1/token-request.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { millisOf, timeOf } from "#schema/time.ts";

interface CachedToken {
  readonly text: string;
  readonly dueAt: number;
  readonly endsAt: number;
  /** It is in a file of the pod, which must be written again in time. */
  isInFile?: boolean;
}

/** A token as storage drivers get it. */
export interface TokenGrant {
  readonly token: string;
  readonly expirationTimestamp: string;
}

const renewAt = 0.8;
const maxAgeMs = 24 * 3600 * 1000;
/** So that the tokens of pods that started together are not renewed together. */
const jitterMs = 10_000;

export class AccountTokens {
  readonly #options: { readonly client: Client; readonly clock: Clock; readonly random: Random };
  /** By pod uid, then by audience and expiration. */
  readonly #cache = new Map<string, Map<string, CachedToken>>();

  constructor(options: { readonly client: Client; readonly clock: Clock; readonly random: Random }) {
    this.#options = options;
  }

  /** A token that need not be renewed yet. If renewal fails, the old token is used until it expires. */
  async of(pod: Pod, audience: string | undefined, expirationSeconds: number): Promise<string> {
    const token = await this.#current(pod, audience, expirationSeconds);
    token.isInFile = true;
    return token.text;
  }

  /** The same, for somebody who asks again when it wants another. */
  async grant(pod: Pod, audience: string, expirationSeconds: number): Promise<TokenGrant> {
    const { text, endsAt } = await this.#current(pod, audience, expirationSeconds);
    return { token: text, expirationTimestamp: timeOf(endsAt) };
  }

  async #current(pod: Pod, audience: string | undefined, expirationSeconds: number): Promise<CachedToken> {
    const { clock } = this.#options;
    const uid = pod.metadata.uid ?? "";
    const key = `${expirationSeconds} ${audience ?? ""}`;
    const cached = this.#cache.get(uid)?.get(key);
    if (cached && clock.now() < cached.dueAt) return cached;
    try {
      const fresh = await this.#request(pod, audience, expirationSeconds);
      const tokens = this.#cache.get(uid) ?? new Map<string, CachedToken>();
      this.#cache.set(uid, tokens.set(key, fresh));
      return fresh;
    } catch (error) {
      if (cached && clock.now() < cached.endsAt) return cached;
      throw error;
    }
  }

  /** When the first of the pod's tokens that are in files is due; Infinity if it has none. */
  dueAt(podUid: string): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { dueAt, isInFile } of this.#cache.get(podUid)?.values() ?? [])
      if (isInFile) first = Math.min(first, dueAt);
    return first;
  }

  forget(podUid: string): void {
    this.#cache.delete(podUid);
  }

  async #request(
    { metadata, spec }: Pod,
    audience: string | undefined,
    expirationSeconds: number,
  ): Promise<CachedToken> {
    const { client, clock, random } = this.#options;
    const { namespace, name, uid = "" } = metadata;
    const request = {
      metadata: { namespace, name: spec.serviceAccountName || "default" },
      spec: {
        audiences: audience ? [audience] : [],
        expirationSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
      },
    };
    const now = clock.now();
    const { status } = await client.create(TokenRequest, request, { of: ServiceAccount, subresource: "token" });
    const endsAt = millisOf(status.expirationTimestamp ?? "");
    if (Number.isNaN(endsAt))
      throw new Error(`a token of ${namespace}/${request.metadata.name} without an end was given`);
    const dueAt = now + Math.min((endsAt - now) * renewAt, maxAgeMs) - random.below(jitterMs);
    return { text: status.token, dueAt, endsAt };
  }
}
