// Makes a cluster of this machine one that others can join, as soon as it serves.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { aborted } from "#base/aborted.ts";
import type { Clock } from "#base/clock.ts";
import { explain, isReason } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { JoinConfig } from "./join-config.ts";
import { type JoinObject, joinInfo, joinRights } from "./join-objects.ts";

export interface JoinServiceOptions {
  readonly config: JoinConfig;
  /** In PEM. */
  readonly ca: string;
  /** Where others reach the API; known when it is served. */
  readonly server: () => string;
  readonly serving: (signal: AbortSignal) => Promise<void>;
  /** May do everything. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
}

const again = { firstMs: 500, maxMs: 10_000 };

export const joinService = (options: JoinServiceOptions): Component => ({
  name: "join service",
  async run(signal) {
    const { config, ca, server, serving, client, clock, log } = options;
    await serving(signal);
    const attempt = async () => {
      const api = client.bound({ signal });
      for (const one of joinRights) await ensure(api, one);
      for (const one of joinInfo(config, server(), ca)) await ensure(api, one);
    };
    const when = (error: unknown) => {
      log.error("what machines need to join could not be written; trying again", { error: explain(error) });
      return true;
    };
    await retry(attempt, { ...again, clock, when }, signal);
    await aborted(signal);
  },
});

/** Of what is there already only the data of ConfigMaps is ours to change. */
async function ensure(api: Client, { kind, object }: JoinObject): Promise<void> {
  try {
    await api.create(kind, object as never); // the object is of that kind
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    if (kind !== ConfigMap || !("data" in object)) return;
    const { namespace, name = "" } = object.metadata ?? {};
    await api.patch(ConfigMap, { namespace, name }, "merge", { data: object.data });
  }
}
