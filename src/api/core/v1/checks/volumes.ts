// The sources of a pod's volumes.
// Upstream: pkg/apis/core/validation/validation.go.
import { byteLength, dns1123Subdomain } from "#schema/formats.ts";
import { forbidden, invalid, type ObjectMeta, type Problem, required, tooLong } from "#schema/index.ts";
import { parseQuantity } from "#schema/quantity.ts";
import { annotationProblems, labelProblems } from "#schema/validate-metadata.ts";
import type {
  CSIVolumeSource,
  DownwardAPIVolumeFile,
  DownwardAPIVolumeSource,
  EmptyDirVolumeSource,
  KeyToPath,
  Volume,
} from "../volume.ts";
import { checkFieldRef, checkResourceField, fieldsOfVolumes } from "./env.ts";
import { fileMode, notReserved } from "./paths.ts";
import { malformed, none, under } from "./problems.ts";

/** In upstream's order, which decides which of several is the one too many. */
const podSources = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
] as const satisfies readonly (keyof Volume)[];
const isPodSource: ReadonlySet<string> = new Set(podSources);

export function checkVolume(volume: Volume): readonly Problem[] {
  const given = Object.entries(volume).filter(([name, source]) => source !== undefined && isPodSource.has(name));
  const found = given.length === 1 ? none : oneSource(podSources.filter((name) => volume[name] !== undefined));
  return volume.iscsi ? [...found, ...iscsiNameLength("name", volume.name, volume.iscsi, volume.name)] : found;
}

export function oneSource(given: readonly string[]): readonly Problem[] {
  if (given.length === 0) return [required("", "must specify a volume type")];
  if (given.length === 1) return none;
  return given.slice(1).map((name) => forbidden(name, "may not specify more than 1 volume type"));
}

const mostIscsiName = 64;

/** Initiators are told apart by a name of limited length, made of volume and target. */
export function* iscsiNameLength(
  at: string,
  name: string,
  iscsi: { readonly initiatorName?: string | undefined; readonly targetPortal: string } | undefined,
  shown: string,
): Iterable<Problem> {
  if (iscsi?.initiatorName !== undefined && byteLength(`${name}:${iscsi.targetPortal}`) > mostIscsiName)
    yield invalid(
      at,
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
      shown,
    );
}

export function* checkEmptyDir({ sizeLimit }: EmptyDirVolumeSource): Iterable<Problem> {
  if (sizeLimit !== undefined && parseQuantity(sizeLimit).unscaled < 0n)
    yield forbidden("sizeLimit", "SizeLimit field must be a valid resource quantity");
}

export function* checkKeyToPath({ path, mode }: KeyToPath): Iterable<Problem> {
  yield* notReserved("path", path);
  yield* fileMode("mode", mode);
}

/** A secret or config map, named at `at`, as files of a mode. */
export function checkFileSource(at: string, name: string | undefined, defaultMode: number): readonly Problem[] {
  const found: Problem[] = [];
  if (!name) found.push(required(at));
  found.push(...fileMode("defaultMode", defaultMode));
  return found;
}

export function* checkDownwardApi({ items, defaultMode }: DownwardAPIVolumeSource): Iterable<Problem> {
  yield* fileMode("defaultMode", defaultMode);
  // Upstream leaves the index out of these paths.
  for (const file of items ?? []) yield* checkDownwardFile(file);
}

export function* checkDownwardFile({
  path,
  fieldRef,
  resourceFieldRef,
  mode,
}: DownwardAPIVolumeFile): Iterable<Problem> {
  if (path === "") yield required("path");
  yield* notReserved("path", path);
  if (fieldRef) {
    yield* under("fieldRef", checkFieldRef(fieldRef, fieldsOfVolumes));
    if (resourceFieldRef)
      yield invalid("", "fieldRef and resourceFieldRef can not be specified simultaneously", "resource");
  } else if (resourceFieldRef) yield* under("resourceFieldRef", checkResourceField(resourceFieldRef, true));
  else yield required("", "one of fieldRef and resourceFieldRef is required");
  yield* fileMode("mode", mode);
}

const mostDriverBytes = 63;

export function* csiDriverName(at: string, name: string): Iterable<Problem> {
  if (name === "") return yield required(at);
  if (byteLength(name) > mostDriverBytes) yield tooLong(at, mostDriverBytes);
  for (const message of dns1123Subdomain(name.toLowerCase())) yield invalid(at, message, name);
}

export function* checkCsiSource({ driver, nodePublishSecretRef: secret }: CSIVolumeSource): Iterable<Problem> {
  yield* csiDriverName("driver", driver);
  if (!secret) return;
  if (!secret.name) yield required("nodePublishSecretRef.name");
  else yield* malformed("name", secret.name, dns1123Subdomain);
}

/** Only labels and annotations pass from a template to what is made of it. */
export function* checkClaimTemplate({ metadata }: { readonly metadata: ObjectMeta }): Iterable<Problem> {
  yield* annotationProblems(metadata.annotations, "metadata.annotations");
  yield* labelProblems(metadata.labels, "metadata.labels");
  for (const [name, value] of Object.entries(metadata))
    if (name !== "labels" && name !== "annotations" && value !== undefined)
      yield forbidden(`metadata.${name}`, "cannot be set");
}
