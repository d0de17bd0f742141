import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { explain, isConflict, isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Client } from "#client/client.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { timeOf } from "#schema/time.ts";
import type { GatewayRouting } from "./gateway-routes.ts";
import { Gateway, GatewayClass, GRPCRoute, HTTPRoute, TLSRoute } from "./kinds.ts";
import { classStatus, gatewayStatus, routeStatus } from "./status.ts";

const routeKinds = { HTTPRoute, GRPCRoute, TLSRoute } as const;

/** Says in the statuses of all objects what became of them, where that is not there yet. */
export async function writeStatuses(
  { classes, gateways, routes }: GatewayRouting,
  client: Client,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const now = timeOf(clock.now());
  for (const one of classes) await writeStatus(GatewayClass, one, classStatus(one, now), client, log);
  for (const one of gateways) await writeStatus(Gateway, one.gateway, gatewayStatus(one, now), client, log);
  for (const one of routes) {
    const status = routeStatus(one, now);
    if (status) await writeStatus(routeKinds[one.kind], one.route, status, client, log);
  }
}

/** One that was changed meanwhile comes again with the change. */
async function writeStatus<K extends AnyKind>(
  kind: K,
  object: { readonly status?: unknown },
  status: unknown,
  client: Client,
  log: Log,
): Promise<void> {
  if (equal(object.status, status)) return;
  try {
    const changed = { ...object, status } as unknown as Infer<K>; // an object of the kind's cache, with another status
    await client.update(kind, changed, "status");
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
    log.debug("a status was not written", { error: explain(error) });
  }
}
