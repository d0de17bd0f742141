// Kinds that come, go and fall silent while controllers run. Built-in kinds play the part of custom ones: the server knows them all
// along, and what stands before it does as if it did not.
import type { TestServer } from "#apiserver/testing.ts";
import { ApiError } from "#base/errors.ts";
import type { Transport } from "#client/client.ts";
import type { Discovery, DiscoveryResult } from "#client/discovery.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { WatchEvent } from "#wire/api-request.ts";
import { serviceUnavailable } from "#wire/status.ts";

export class ChangingKinds implements Discovery {
  readonly #served: Set<AnyKind>;
  readonly #listeners = new Set<() => void>();
  readonly #watches = new Map<AnyKind, AbortController>();
  /** Kinds that are told of but cannot be asked for. */
  readonly broken = new Set<AnyKind>();
  /** Versions of groups that cannot be told of. */
  readonly failures = new Map<string, Error>();
  /** How often it was asked. */
  asked = 0;

  constructor(kinds: readonly AnyKind[]) {
    this.#served = new Set(kinds);
  }

  serve(kind: AnyKind): void {
    this.#served.add(kind);
    for (const listener of this.#listeners) listener();
  }

  remove(kind: AnyKind): void {
    this.#served.delete(kind);
    this.#watches.get(kind)?.abort();
    this.#watches.delete(kind);
    for (const listener of this.#listeners) listener();
  }

  async discover(): Promise<DiscoveryResult> {
    this.asked++;
    return { kinds: [...this.#served], failures: this.failures };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The way to a server that serves these kinds. */
  readonly transport =
    ({ server }: TestServer): Transport =>
    async (request) => {
      const kind = [...this.broken].find((one) => one.plural === request.resource);
      if (kind) throw serviceUnavailable("injected");
      const served = [...this.#served].find((one) => one.plural === request.resource);
      if (!served) throw new ApiError({ code: 404, reason: "NotFound", message: "no such resource" });
      const response = await server.request(request);
      if (response.type !== "watch") return response;
      return { ...response, events: until(response.events, this.#ending(served)) };
    };

  #ending(kind: AnyKind): AbortSignal {
    const watches = this.#watches.get(kind) ?? new AbortController();
    this.#watches.set(kind, watches);
    return watches.signal;
  }
}

/** The events until the signal aborts. */
async function* until(
  events: AsyncIterable<readonly WatchEvent[]>,
  signal: AbortSignal,
): AsyncGenerator<readonly WatchEvent[]> {
  const over = new Promise<{ done: true }>((resolve) =>
    signal.addEventListener("abort", () => resolve({ done: true }), { once: true }),
  );
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), over]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}
