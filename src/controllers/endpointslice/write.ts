// Carries out a plan: creations first, so that no endpoint is missing in between.
// Upstream: staging/src/k8s.io/endpointslice/reconciler.go.
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { explain, isNotFound } from "#base/errors.ts";
import type { Reconcile } from "#client/controller.ts";
import { controlledBy } from "#rules/owners.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import { isNamespaceTerminating } from "../pod-writes.ts";
import type { SlicePlan, WantedSlice } from "./plan.ts";
import { slicePrefix } from "./slice-labels.ts";

export interface SliceOwner {
  readonly kind: AnyKind;
  readonly object: { readonly metadata: ObjectMeta };
  /** The annotations of a slice, given those it has. */
  annotations(present: ObjectMeta["annotations"]): ObjectMeta["annotations"];
}

export async function writePlan({ writes, deletes }: SlicePlan, owner: SliceOwner, { client }: Reconcile) {
  const { namespace, name = "", deletionTimestamp } = owner.object.metadata;
  const subject = `${owner.kind.kind} ${namespace}/${name}`;
  const failed = (what: string, error: unknown) =>
    new Error(`failed to ${what} for ${subject}: ${explain(error)}`, { cause: error });
  for (const wanted of writes) {
    // What belongs to an owner that is being deleted is the garbage collector's: nothing is made in its way.
    if (wanted.present || deletionTimestamp !== undefined) continue;
    try {
      await client.create(EndpointSlice, newSlice(wanted, owner));
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      throw failed("create EndpointSlice", error);
    }
  }
  for (const wanted of writes) {
    if (!wanted.present) continue;
    try {
      await client.update(EndpointSlice, changedSlice(wanted.present, wanted, owner));
    } catch (error) {
      throw failed(`update ${wanted.present.metadata.name} EndpointSlice`, error);
    }
  }
  for (const { metadata } of deletes) {
    try {
      await client.delete(EndpointSlice, metadata);
    } catch (error) {
      if (!isNotFound(error)) throw failed(`delete ${metadata.name} EndpointSlice`, error);
    }
  }
}

function newSlice({ addressType, ports, endpoints, labels }: WantedSlice, { kind, object, annotations }: SliceOwner) {
  const { namespace, name = "" } = object.metadata;
  const metadata = {
    generateName: slicePrefix(name),
    namespace,
    labels,
    annotations: annotations(undefined),
    ownerReferences: [controlledBy(kind, object)],
  };
  return { metadata, addressType, ports, endpoints };
}

function changedSlice(present: EndpointSlice, wanted: WantedSlice, { kind, object, annotations }: SliceOwner) {
  const { ports, endpoints, labels } = wanted;
  const metadata = {
    ...present.metadata,
    labels,
    annotations: annotations(present.metadata.annotations),
    ownerReferences: [controlledBy(kind, object)],
  };
  return { ...present, metadata, ports, endpoints };
}
