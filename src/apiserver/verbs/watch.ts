import { requestWith, type WatchEvent } from "#wire/api-request.ts";
import { parseListOptions } from "../registry/options.ts";
import { watchObjects } from "../registry/reader.ts";
import type { Registry } from "../registry/registry.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { eventsInVersion } from "../versions.ts";

export const watch: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const options = parseListOptions(kind, request);
  const signal =
    options.timeoutSeconds === undefined
      ? request.signal
      : withTimeout(registry, request.signal, options.timeoutSeconds);
  try {
    const watched = await watchObjects(registry, requestWith(request, { signal }), options);
    const isWhole = request.namespace === undefined && !options.wants && !kind.convert;
    const events = request.holds && isWhole ? holding(registry, watched) : watched;
    return { type: "watch", kind, events: eventsInVersion(kind, events) };
  } catch (error) {
    if (!signal.aborted || request.signal.aborted) throw error;
    return { type: "watch", kind, events: noEvents() }; // its time was over before it could begin
  }
};

/** For as long as they are followed, who follows them holds every object. */
async function* holding<T>({ options: { cache } }: Registry, events: AsyncIterable<T>): AsyncGenerator<T> {
  const release = cache.hold();
  try {
    yield* events;
  } finally {
    release();
  }
}

async function* noEvents(): AsyncGenerator<readonly WatchEvent[]> {
  yield [];
}

function withTimeout(registry: Registry, signal: AbortSignal, seconds: number): AbortSignal {
  const ended = new AbortController();
  const cancel = registry.options.clock.after(seconds * 1000, () =>
    ended.abort(new Error("the time asked for is over")),
  );
  signal.addEventListener("abort", cancel, { once: true });
  return AbortSignal.any([signal, ended.signal]);
}
