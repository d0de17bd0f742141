// Storage reached over the network, as pods and persistent volumes name it.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Label, rangeMessage } from "#schema/formats.ts";
import { invalid, notSupported, type Problem, required } from "#schema/index.ts";
import type {
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GlusterfsPersistentVolumeSource,
  ISCSIVolumeSource,
  NFSVolumeSource,
  QuobyteVolumeSource,
} from "../network-volumes.ts";
import { isAbsolute } from "./paths.ts";
import { malformed } from "./problems.ts";

export function* checkPartition(partition: number): Iterable<Problem> {
  if (partition < 0 || partition > 255) yield invalid("partition", rangeMessage(1, 255));
}

/** Names of iSCSI ends come in three forms, told apart by their first letters. */
const iscsiNames: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[a-zA-Z0-9]{16}$/,
  naa: /^naa.[a-zA-Z0-9]{32}$/,
};

export function* checkIscsi(
  iscsi: Pick<ISCSIVolumeSource, "iqn" | "initiatorName" | "chapAuthDiscovery" | "chapAuthSession"> & {
    readonly secretRef?: { readonly name?: string | undefined } | undefined;
  },
  unknownForm: string,
): Iterable<Problem> {
  if (iscsi.iqn !== "") yield* iscsiName("iqn", iscsi.iqn, unknownForm);
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && !iscsi.secretRef) yield required("secretRef");
  if (iscsi.initiatorName !== undefined) yield* iscsiName("initiatorname", iscsi.initiatorName, unknownForm);
}

function* iscsiName(at: string, name: string, unknownForm: string): Iterable<Problem> {
  const form = iscsiNames[name.slice(0, 3)];
  if (!form) yield invalid(at, unknownForm, name);
  else if (!form.test(name)) yield invalid(at, "must be valid format", name);
}

export function* checkFibreChannel({ targetWWNs = [], wwids = [], lun }: FCVolumeSource): Iterable<Problem> {
  if (targetWWNs.length === 0 && wwids.length === 0)
    yield required("targetWWNs", "must specify either targetWWNs or wwids, but not both");
  if (targetWWNs.length === 0) return;
  if (wwids.length > 0) yield invalid("targetWWNs", "targetWWNs and wwids can not be specified simultaneously");
  if (lun === undefined) yield required("lun", "lun is required if targetWWNs is specified");
  else if (lun < 0 || lun > 255) yield invalid("lun", rangeMessage(0, 255));
}

export function* checkFlocker({ datasetName = "", datasetUUID = "" }: FlockerVolumeSource): Iterable<Problem> {
  if (datasetName === "" && datasetUUID === "") yield required("", "one of datasetName and datasetUUID is required");
  if (datasetName !== "" && datasetUUID !== "")
    yield invalid("", "datasetName and datasetUUID can not be specified simultaneously", "resource");
  if (datasetName.includes("/")) yield invalid("datasetName", "must not contain '/'");
}

export function* checkFlex({ options }: Pick<FlexVolumeSource, "options">): Iterable<Problem> {
  for (const key of Object.keys(options ?? {})) {
    const domain = `.${(key.split("/")[0] ?? "").toLowerCase()}`;
    if (domain.endsWith(".kubernetes.io") || domain.endsWith(".k8s.io"))
      yield invalid(`options[${key}]`, "kubernetes.io and k8s.io namespaces are reserved", key);
  }
}

const managedDisks = [
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
];
const blobDisks = ["https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"];

export function* checkAzureDisk({ kind, diskURI }: AzureDiskVolumeSource): Iterable<Problem> {
  if (kind === "Managed" && !diskURI.startsWith("/subscriptions/")) yield notSupported("diskURI", managedDisks);
  if (kind !== "Managed" && !diskURI.startsWith("https://")) yield notSupported("diskURI", blobDisks);
}

const mostTenant = 64;
const pairs = "must be a host:port pair or multiple pairs separated by commas";

export function* checkQuobyte({ registry, tenant = "" }: QuobyteVolumeSource): Iterable<Problem> {
  if (registry === "") return;
  if (tenant.length > mostTenant)
    return yield required("tenant", "must be a UUID and may not exceed a length of 64 characters");
  for (const pair of registry.split(","))
    if (!/^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair)) yield invalid("registry", pairs);
}

export function* checkNfs({ path }: NFSVolumeSource): Iterable<Problem> {
  if (!isAbsolute(path)) yield invalid("path", "must be an absolute path");
}

export function* checkGlusterfs({ endpointsNamespace: namespace }: GlusterfsPersistentVolumeSource): Iterable<Problem> {
  if (namespace === "")
    yield invalid("endpointsNamespace", "if the endpointnamespace is set, it must be a valid namespace name");
  else if (namespace !== undefined) yield* malformed("endpointsNamespace", namespace, dns1123Label);
}

/** A secret that is referred to must be named, and from outside of namespaces by its namespace as well. */
export function* secretNamed(
  secret: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined,
  withNamespace: boolean,
): Iterable<Problem> {
  if (secret && !secret.name) yield required("secretRef.name");
  if (secret && withNamespace && !secret.namespace) yield required("secretRef.namespace");
}

export function* notEmptyIfSet(at: string, value: string | undefined): Iterable<Problem> {
  if (value === "") yield required(at);
}
