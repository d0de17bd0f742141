// Objects that a cluster has to have, made by a client.
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";
import type { Clock } from "#base/clock.ts";
import { isReason } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";

const lookMs = 60_000;

/** Makes them again when somebody took them away. */
export const keptObjects = (
  client: Client,
  objects: readonly SystemObject[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Component => ({
  name: "objects",
  async run(signal) {
    for (;;) {
      await clock.sleep(lookMs, signal);
      try {
        await makeMissing(client, objects, signal);
      } catch (error) {
        signal.throwIfAborted();
        log.warn("an object that the cluster needs could not be made; trying again", { error });
      }
    }
  },
});

export async function makeMissing(
  client: Client,
  objects: readonly SystemObject[],
  signal: AbortSignal,
): Promise<void> {
  const api = client.bound({ signal });
  for (const { kind, object } of objects) {
    const { name = "", namespace } = object.metadata ?? {};
    if (await api.find(kind, { name, namespace })) continue;
    try {
      await api.create(kind, object);
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
    }
  }
}
