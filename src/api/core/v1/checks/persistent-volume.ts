// Persistent volumes.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Label, dns1123Subdomain } from "#schema/formats.ts";
import { forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import { internalForm } from "../../../internal-form.ts";
import {
  type CSIPersistentVolumeSource,
  type PersistentVolume,
  PersistentVolumeSource,
  type PersistentVolumeSpec,
  VolumeNodeAffinity,
} from "../persistent-volume.ts";
import type { SecretReference } from "../references.ts";
import { storedDifference } from "./difference.ts";
import { checkAccessModes, sensible } from "./persistent-volume-claim.ts";
import { isEmpty, malformed, under } from "./problems.ts";
import { entries, positiveAmount } from "./resources.ts";
import { same } from "./same.ts";
import { csiDriverName, iscsiNameLength, oneSource } from "./volumes.ts";

/** In upstream's order, which decides which of several is the one too many. */
const sources = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
] as const satisfies readonly (keyof PersistentVolumeSpec)[];

export function* checkPersistentVolume({ metadata, spec }: PersistentVolume): Iterable<Problem> {
  yield* under("spec", [
    ...checkAccessModes(spec.accessModes ?? [], ""),
    ...checkCapacity(spec),
    ...checkStorage(spec),
  ]);
  const { iscsi } = spec;
  yield* iscsiNameLength("spec.iscsi.targetportal", metadata.name ?? "", iscsi, iscsi?.targetPortal ?? "");
}

const mountOptions = "volume.beta.kubernetes.io/mount-options";

/** Sources that take the options of a mount from an annotation, as all did before there was a field for them. */
const takesMountOptions: readonly (keyof PersistentVolumeSpec)[] = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "nfs",
  "rbd",
  "quobyte",
  "iscsi",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "azureDisk",
  "photonPersistentDisk",
];

export function* checkMountOptions({ metadata, spec }: PersistentVolume): Iterable<Problem> {
  if (metadata.annotations?.[mountOptions] === undefined) return;
  if (!takesMountOptions.some((name) => spec[name]))
    yield forbidden(`metadata.annotations.${mountOptions}`, "may not specify mount options for this volume type");
}

const notInline = "may not be specified in the context of inline volumes";

/** The spec of a volume without an object of its own, as an attachment carries it. */
export function* checkInlineVolume(spec: PersistentVolumeSpec): Iterable<Problem> {
  for (const name of ["claimRef", "capacity", "nodeAffinity", "storageClassName"] as const) {
    const value = spec[name];
    if (value !== undefined && value !== "" && !(name === "capacity" && isEmpty(spec.capacity)))
      yield forbidden(name, notInline);
  }
  if (!spec.csi) yield required("csi", "has to be specified in the context of inline volumes");
  if (spec.persistentVolumeReclaimPolicy !== "Retain")
    yield forbidden("persistentVolumeReclaimPolicy", "may only be Retain in the context of inline volumes");
  if (spec.volumeMode !== "Filesystem")
    yield forbidden("volumeMode", "may not specify volumeMode other than Filesystem in the context of inline volumes");
  yield* checkAccessModes(spec.accessModes ?? [], "");
  yield* checkStorage(spec);
}

function* checkStorage(spec: PersistentVolumeSpec): Iterable<Problem> {
  yield* oneSource(sources.filter((name) => spec[name] !== undefined));
  if (spec.local && !spec.nodeAffinity) yield required("nodeAffinity", "Local volume requires node affinity");
  if (spec.iscsi?.secretRef && !spec.iscsi.secretRef.name) yield required("iscsi.secretRef.name");
  if (spec.persistentVolumeReclaimPolicy === "Recycle" && /^\/(?:\.?\/)*\.?$/.test(spec.hostPath?.path ?? ""))
    yield forbidden("persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'");
  const attributes = spec.volumeAttributesClassName;
  if (attributes === undefined) return;
  if (attributes === "") yield required("volumeAttributesClassName", "an empty string is disallowed");
  else yield* malformed("volumeAttributesClassName", attributes, dns1123Subdomain);
  if (!spec.csi) yield required("csi", "has to be specified when using volumeAttributesClassName");
}

function* checkCapacity({ capacity = {} }: PersistentVolumeSpec): Iterable<Problem> {
  const names = Object.keys(capacity);
  if (names.length === 0) yield required("capacity");
  if (names.length !== 1 || names[0] !== "storage") yield notSupported("capacity", ["storage"]);
  for (const [at, , value] of entries("capacity", capacity)) {
    yield* sensible(at, value);
    yield* positiveAmount(at, value);
  }
}

export function* checkCsiVolume(csi: CSIPersistentVolumeSource): Iterable<Problem> {
  yield* csiDriverName("driver", csi.driver);
  if (csi.volumeHandle === "") yield required("volumeHandle");
  for (const name of [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
  ] as const) {
    const secret = csi[name];
    if (secret) yield* under(name, checkSecretReference(secret));
  }
}

function* checkSecretReference({ name = "", namespace = "" }: SecretReference): Iterable<Problem> {
  if (name === "") yield required("name");
  else yield* malformed("name", name, dns1123Subdomain);
  if (namespace === "") yield required("namespace");
  else yield* malformed("namespace", namespace, dns1123Label);
}

export function* checkVolumeUpdate({ spec }: PersistentVolume, { spec: old }: PersistentVolume): Iterable<Problem> {
  const [now, then] = [sourceOf(spec), sourceOf(old)];
  // A secret for growing may be added later.
  if (now.csi && then.csi && !then.csi.controllerExpandSecretRef)
    now.csi = { ...now.csi, controllerExpandSecretRef: undefined };
  if (!same(now, then))
    yield forbidden(
      "spec.persistentvolumesource",
      `spec.persistentvolumesource is immutable after creation\n${storedDifference(PersistentVolumeSource, then, now)}`,
    );
  if (spec.volumeMode !== old.volumeMode) yield invalid("volumeMode", "field is immutable", spec.volumeMode);
  if (old.nodeAffinity && !same(withoutBetaLabels(old.nodeAffinity, spec.nodeAffinity), spec.nodeAffinity))
    yield invalid(
      "nodeAffinity",
      "field is immutable, except for updating from beta label to GA",
      spec.nodeAffinity ? internalForm(VolumeNodeAffinity, spec.nodeAffinity) : null,
    );
  if (old.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined)
    yield forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
}

type Source = { -readonly [K in (typeof sources)[number]]?: PersistentVolumeSpec[K] };

function sourceOf(spec: PersistentVolumeSpec): Source {
  return Object.fromEntries(sources.filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]));
}

const lastingLabels = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
  ["beta.kubernetes.io/os", "kubernetes.io/os"],
  ["beta.kubernetes.io/arch", "kubernetes.io/arch"],
  ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"],
]);

type NodeAffinity = NonNullable<PersistentVolumeSpec["nodeAffinity"]>;

/** The old affinity with the new names of labels, where the new one uses them in the same place. */
function withoutBetaLabels(old: NodeAffinity, now: NodeAffinity | undefined): NodeAffinity {
  const terms = (old.required?.nodeSelectorTerms ?? []).map((term, i) => {
    const renamed = (list: "matchExpressions" | "matchFields") =>
      term[list]?.map((requirement, j) => {
        const key = now?.required?.nodeSelectorTerms[i]?.[list]?.[j]?.key;
        return key !== undefined && lastingLabels.get(requirement.key) === key ? { ...requirement, key } : requirement;
      });
    return { matchExpressions: renamed("matchExpressions"), matchFields: renamed("matchFields") };
  });
  return { required: { nodeSelectorTerms: terms } };
}
