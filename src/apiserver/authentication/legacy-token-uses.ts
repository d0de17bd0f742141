// Notes on secrets the day on which their tokens were last used, so that those that nobody uses can be found and removed.
// Follows pkg/serviceaccount/legacy.go upstream.
import { Secret } from "#api/core/v1/secret.ts";
import type { Clock } from "#base/clock.ts";
import { isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { lastUsedLabel } from "#rules/legacy-tokens.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { ServerWrites } from "../bootstrap/server-writes.ts";

export interface LegacyTokenUsesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
}

const dayMs = 24 * 60 * 60 * 1000;

export class LegacyTokenUses {
  readonly #options: LegacyTokenUsesOptions;
  readonly #writes: ServerWrites;
  /** Writes under way, by the secret's UID: many requests may come with one token before its secret has the label. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #signal = new AbortController().signal;

  constructor(options: LegacyTokenUsesOptions) {
    this.#options = options;
    this.#writes = new ServerWrites(options.request);
  }

  /** Resolves when it is noted, or when that has failed: whoever shows a good token is served all the same. */
  async note(secret: ApiObject): Promise<void> {
    const { uid = "", labels } = secret.metadata;
    const now = this.#options.clock.now();
    const lastUsed = labels?.[lastUsedLabel];
    // The clock of another server may be ahead.
    if (lastUsed === dayOf(now) || lastUsed === dayOf(now + dayMs)) return;
    const write = this.#underWay.get(uid) ?? this.#write(secret, dayOf(now));
    this.#underWay.set(uid, write);
    await write;
  }

  async #write({ apiVersion, kind, metadata: { namespace = "", name = "", uid = "" } }: ApiObject, day: string) {
    const labels = { [lastUsedLabel]: day };
    const patch = { apiVersion, kind, metadata: { namespace, name, uid, labels } } as DraftObject;
    try {
      await this.#writes.merge(Secret, patch, this.#signal);
    } catch (error) {
      if (!isNotFound(error)) this.#options.log.warn("the use of a token is not noted", { namespace, name, error });
    } finally {
      this.#underWay.delete(uid);
    }
  }
}

const dayOf = (ms: number): string => timeOf(ms).slice(0, 10);
