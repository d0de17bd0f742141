// What an autoscaler scales: anything that has a scale, of whatever kind is served, custom ones included.
// Upstream: pkg/controller/podautoscaler/horizontal.go.

import { Scale } from "#api/autoscaling/v1/scale.ts";
import type { CrossVersionObjectReference } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { explain, isConflict } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import type { Discovery } from "#client/discovery.ts";
import { groupOf } from "#schema/api-version.ts";
import type { AnyKind } from "#schema/kind.ts";

export interface ScaleTarget {
  readonly scale: Scale;
  /** The kind it was read of. */
  readonly of: AnyKind;
}

const tries = 5;

/** Throws Error in upstream's words. */
export async function readScale(
  { kind, name, apiVersion = "" }: CrossVersionObjectReference,
  namespace: string,
  discovery: Discovery,
  client: Client,
): Promise<ScaleTarget> {
  if (apiVersion.split("/").length > 2) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  const group = groupOf(apiVersion);
  const { kinds } = await discovery.discover(client.signal);
  // The preferred version of each resource comes first, and is the one that is asked.
  const meant = new Map(
    kinds
      .filter((one) => one.kind === kind && one.group === group)
      .toReversed()
      .map((one) => [one.plural, one]),
  );
  if (meant.size === 0)
    throw new Error(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`);
  let first: unknown;
  for (const of of meant.values())
    try {
      return { of, scale: await client.get(Scale, { namespace, name }, { of, subresource: "scale" }) };
    } catch (error) {
      client.signal.throwIfAborted();
      first ??= error;
    }
  throw new Error(explain(first), { cause: first });
}

/** Somebody else may change the target meanwhile: it is read again, and tried again. */
export async function writeScale({ scale, of }: ScaleTarget, replicas: number, client: Client): Promise<void> {
  const target = { of, subresource: "scale" };
  let present = scale;
  for (let attempt = 1; ; attempt++)
    try {
      await client.update(Scale, { ...present, spec: { ...present.spec, replicas } }, target);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === tries) throw error;
      present = await client.get(Scale, scale.metadata, target);
    }
}
