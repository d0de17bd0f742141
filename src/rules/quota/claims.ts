// What claims count for: of storage the amount, in all and by class; of devices their number by class.
// Upstream: pkg/quota/v1/evaluator/core/persistent_volume_claims.go and pkg/quota/v1/evaluator/core/resource_claims.go.
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { DeviceSubRequest, ExactDeviceRequest } from "#api/resource/v1/device-request.ts";
import type { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import type { ApiObject } from "#schema/object.ts";
import {
  addQuantity,
  compareQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  roundQuantityUp,
} from "#schema/quantity.ts";
import { type Evaluator, matchesClass, one } from "./evaluator.ts";

const byClass = ".storageclass.storage.k8s.io/";
const storageNames = ["persistentvolumeclaims", "requests.storage"];

export const volumeClaimEvaluator: Evaluator = {
  counts: (name) =>
    name === "count/persistentvolumeclaims" ||
    storageNames.some((ours) => name === ours || name.endsWith(byClass + ours)),
  usage(object) {
    const claim = claimOf(object);
    const className =
      claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? claim.spec.storageClassName;
    const storage = storageOf(claim);
    const amounts: [string, Quantity][] = [
      ["persistentvolumeclaims", one],
      ...(storage ? [["requests.storage", storage] as [string, Quantity]] : []),
    ];
    return new Map([
      ["count/persistentvolumeclaims", one],
      ...amounts,
      ...(className ? amounts.map(([name, amount]) => [className + byClass + name, amount] as const) : []),
    ]);
  },
  inScope: (scope, object) =>
    scope.scopeName === "VolumeAttributesClass" && matchesClass(scope, attributesClasses(claimOf(object))),
  minds({ subresource, object, old }) {
    if (subresource === "") return true;
    if (subresource !== "status" || !old) return false;
    const [before, after] = [claimOf(old), claimOf(object)];
    return (
      before.status.allocatedResources?.storage !== after.status.allocatedResources?.storage ||
      attributesClasses(before).join() !== attributesClasses(after).join()
    );
  },
};

const claimOf = (object: ApiObject): PersistentVolumeClaim => object as unknown as PersistentVolumeClaim;

/** The requested amount, or the larger allocated one while a claim is being shrunk. */
function storageOf({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const asked = spec.resources.requests?.storage;
  if (asked === undefined) return undefined;
  const given = status.allocatedResources?.storage;
  const [a, b] = [parseQuantity(asked), parseQuantity(given ?? "0")];
  return roundQuantityUp(compareQuantity(b, a) > 0 ? b : a, 0);
}

const attributesClasses = ({ spec, status }: PersistentVolumeClaim): readonly string[] =>
  [
    ...new Set([
      spec.volumeAttributesClassName,
      status.currentVolumeAttributesClassName,
      status.modifyVolumeStatus?.targetVolumeAttributesClassName,
    ]),
  ]
    .filter((name) => name !== undefined && name !== "")
    .sort() as string[];

const claimCount = "count/resourceclaims.resource.k8s.io";
const devices = ".deviceclass.resource.k8s.io/devices";
/** As many as a claim can get, for one that wants all there are. */
const mostDevices = 32;

export const resourceClaimEvaluator: Evaluator = {
  counts: (name) => name === claimCount || name.endsWith(devices),
  usage(object) {
    const { spec } = object as unknown as ResourceClaim;
    const total = new Map<string, Quantity>([[claimCount, one]]);
    for (const { exactly, firstAvailable } of spec.devices.requests ?? []) {
      // Which of several it will be is not known yet: the worst of each class counts.
      const most = new Map<string, number>();
      for (const request of firstAvailable?.length ? firstAvailable : exactly ? [exactly] : []) {
        const name = request.deviceClassName + devices;
        most.set(name, Math.max(most.get(name) ?? 0, devicesOf(request)));
      }
      for (const [name, number] of most) {
        const present = total.get(name);
        total.set(name, present ? addQuantity(present, quantityOf(number)) : quantityOf(number));
      }
    }
    return total;
  },
};

function devicesOf({ allocationMode, count }: ExactDeviceRequest | DeviceSubRequest): number {
  if (allocationMode === "ExactCount") return Number(count ?? 0);
  return allocationMode === "All" ? mostDevices : 0;
}
