// Claims.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Label, dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { sentAs } from "#schema/sent-empty.ts";
import { compareAmounts, isNative } from "../amounts.ts";
import { classAnnotation } from "../columns/storage.ts";
import { type PersistentVolumeClaim, PersistentVolumeClaimSpec } from "../persistent-volume-claim.ts";
import { storedDifference } from "./difference.ts";
import { malformed } from "./problems.ts";
import { amount, entries, positiveAmount } from "./resources.ts";
import { same } from "./same.ts";

const modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

export function* checkAccessModes(accessModes: readonly string[], missing: string): Iterable<Problem> {
  if (accessModes.length === 0) yield required("accessModes", missing);
  for (const mode of accessModes) if (!modes.includes(mode)) yield notSupported("accessModes", modes, mode);
  const known = accessModes.filter((mode) => modes.includes(mode));
  if (known.includes("ReadWriteOncePod") && known.some((mode) => mode !== "ReadWriteOncePod"))
    yield forbidden("accessModes", "may not use ReadWriteOncePod with other access modes");
}

export function* checkClaimSpec(spec: PersistentVolumeClaimSpec): Iterable<Problem> {
  yield* checkAccessModes(spec.accessModes ?? [], "at least 1 access mode is required");
  const storage = spec.resources.requests?.storage;
  if (storage === undefined) yield required("resources[storage]");
  else yield* positiveAmount("resources[storage]", storage);
  yield* checkSources(spec);
}

type Source = NonNullable<PersistentVolumeClaimSpec["dataSourceRef"]>;

function* checkSources({ dataSource, dataSourceRef }: PersistentVolumeClaimSpec): Iterable<Problem> {
  if (dataSource) yield* checkSource("dataSource", dataSource);
  if (dataSourceRef) yield* checkSource("dataSourceRef", dataSourceRef);
  if (!dataSource || !dataSourceRef) return;
  // Upstream shows the path where the value should be; a path has no JSON but braces.
  if (dataSourceRef.namespace) yield invalid("", "may not be specified when dataSourceRef.namespace is specified", {});
  else if (
    dataSource.apiGroup !== dataSourceRef.apiGroup ||
    dataSource.kind !== dataSourceRef.kind ||
    dataSource.name !== dataSourceRef.name
  )
    yield invalid("", "must match dataSourceRef", {});
}

function* checkSource(at: string, { apiGroup = "", kind, namespace }: Source): Iterable<Problem> {
  if (apiGroup === "") {
    if (kind !== "PersistentVolumeClaim")
      yield invalid(at, "must be 'PersistentVolumeClaim' when referencing the default apiGroup", kind);
  } else yield* malformed(`${at}.apiGroup`, apiGroup, dns1123Subdomain);
  if (namespace) yield* malformed(`${at}.namespace`, namespace, dns1123Label);
}

export function* checkClaimUpdate(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): Iterable<Problem> {
  const { now, then, problems } = withAllowedChanges(claim, old);
  yield* problems;
  if (!same(now, then))
    yield forbidden(
      "spec",
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${storedDifference(PersistentVolumeClaimSpec, then, now)}`,
    );
  const size = claim.spec.resources.requests?.storage ?? "0";
  const hasShrunk = compareAmounts(size, old.spec.resources.requests?.storage ?? "0") < 0;
  if (hasShrunk && compareAmounts(size, old.status.capacity?.storage ?? "0") <= 0)
    yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity");
  if (claim.spec.volumeMode !== old.spec.volumeMode)
    yield invalid("volumeMode", "field is immutable", claim.spec.volumeMode);
  const wanted = claim.spec.volumeAttributesClassName;
  if (wanted === old.spec.volumeAttributesClassName || old.status.currentVolumeAttributesClassName === undefined)
    return;
  if (!wanted)
    yield forbidden(
      "spec.volumeAttributesClassName",
      `update to ${wanted === undefined ? "nil" : "empty string"} is forbidden when status.currentVolumeAttributesClassName is not nil`,
    );
}

interface Compared {
  readonly now: PersistentVolumeClaimSpec;
  readonly then: PersistentVolumeClaimSpec;
  readonly problems: readonly Problem[];
}

/** Both specs without what may differ: a volume found, a class filled in, and of a bound claim its size and attributes. */
function withAllowedChanges(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): Compared {
  const problems: Problem[] = [];
  let [now, then] = [claim.spec, old.spec];
  if (!then.volumeName) then = { ...then, volumeName: now.volumeName };
  const annotated = old.metadata.annotations?.[classAnnotation];
  const newlyAnnotated = claim.metadata.annotations?.[classAnnotation];
  const isNamed = then.storageClassName === undefined && now.storageClassName !== undefined;
  const takesAnnotation = annotated !== undefined && isNamed && now.storageClassName === annotated;
  if (!takesAnnotation || (newlyAnnotated !== undefined && newlyAnnotated !== annotated)) {
    if ((newlyAnnotated ?? "") !== (annotated ?? ""))
      problems.push(invalid(`metadata.annotations.${classAnnotation}`, "field is immutable", newlyAnnotated ?? ""));
  }
  if (isNamed && (annotated === undefined || annotated === now.storageClassName))
    now = { ...now, storageClassName: undefined };
  if (claim.status.phase === "Bound") {
    const storage = then.resources.requests?.storage;
    const requests = { ...now.resources.requests, ...(storage !== undefined && { storage }) };
    now = {
      ...now,
      resources: { ...now.resources, requests },
      volumeAttributesClassName: then.volumeAttributesClassName,
    };
  }
  return { now: sentAs(claim.spec, now), then, problems };
}

const resizeStatuses = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
].toSorted();

export function* checkClaimStatus({ spec, status }: PersistentVolumeClaim): Iterable<Problem> {
  if (!spec.accessModes?.length) yield required("Spec.accessModes");
  for (const [at, , value] of entries("status.capacity", status.capacity)) yield* sensible(at, value);
  const statuses = "status.allocatedResourceStatuses";
  for (const [name, value] of Object.entries(status.allocatedResourceStatuses ?? {})) {
    yield* storageName(statuses, name);
    if (!resizeStatuses.includes(value)) yield notSupported(statuses, resizeStatuses, name);
  }
  for (const [at, name, value] of entries("status.allocatedResources", status.allocatedResources)) {
    const bad = [...storageName("status.allocatedResources", name)];
    yield* bad;
    if (bad.length === 0)
      yield* quantityValue(parseQuantity(value)) < 0n ? sensible(at, value) : amount(at, "storage", value);
  }
}

export function* sensible(at: string, value: string): Iterable<Problem> {
  const whole = quantityValue(parseQuantity(value));
  if (whole < 0n) yield invalid(at, "must be a valid resource quantity", Number(whole));
}

function* storageName(at: string, name: string): Iterable<Problem> {
  const bad = [...malformed(at, name, qualifiedName)];
  yield* bad;
  if (bad.length === 0 && isNative(name) && name !== "storage") yield notSupported(at, ["storage"], name);
}
