import { unlessAborted } from "#base/unless-aborted.ts";
import type { Informer } from "#client/informer.ts";
import type { AnyKind } from "#schema/kind.ts";

/** Resolves once the cache of the informer satisfies a condition, which is checked after each change. */
export async function untilCached<K extends AnyKind>(
  informer: Informer<K>,
  isEnough: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const enough = Promise.withResolvers<void>();
  const look = () => {
    if (isEnough()) enough.resolve();
  };
  const stop = informer.onProgress(look);
  look();
  try {
    await unlessAborted(enough.promise, signal);
  } finally {
    stop();
  }
}
