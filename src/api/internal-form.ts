// How upstream shows a struct in a refusal. It validates its internal types, which have no JSON names, so Go writes the names of the
// fields in Go, in the order of the internal type, and every field, even where it is empty. The names and the order follow from our
// declarations but for the exceptions below; see pkg/apis/*/types.go.
import { isFilledIn } from "#schema/defaults.ts";
import type { FieldSpec, Type } from "#schema/field.ts";
import { isValueShown, type Problem } from "#schema/problem.ts";
import { sentEmpty } from "#schema/sent-empty.ts";
import type { AnyStruct } from "#schema/struct.ts";

type Values = Readonly<Record<string, unknown>>;

interface Exception {
  /** Names in Go that do not follow from those in JSON. */
  readonly names?: Readonly<Record<string, string>>;
  /** The fields in the order of the internal type, by their names in JSON. */
  readonly order?: readonly string[];
  /** Adds what the internal type has here and clients see elsewhere. */
  complete?(form: Record<string, unknown>, value: Values): void;
}

const iscsi: Exception = { names: { chapAuthDiscovery: "DiscoveryCHAPAuth", chapAuthSession: "SessionCHAPAuth" } };
const glusterfs: Exception = { names: { endpoints: "EndpointsName" } };
const rbd: Exception = {
  names: { monitors: "CephMonitors", image: "RBDImage", pool: "RBDPool", user: "RadosUser" },
};
const sourceNames = { cephfs: "CephFS", storageos: "StorageOS" };
const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const volumeSources = words(`hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs
  persistentVolumeClaim rbd quobyte flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume azureDisk
  photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral image`);

const persistentVolumeSources =
  words(`gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd quobyte iscsi flexVolume
  cinder cephfs fc flocker azureFile vsphereVolume azureDisk photonPersistentDisk portworxVolume scaleIO local storageos csi`);

const podSpec: Exception = {
  names: { serviceAccount: "DeprecatedServiceAccount" },
  order: words(`volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds
    activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName automountServiceAccountToken nodeName securityContext
    imagePullSecrets hostname subdomain setHostnameAsFQDN affinity schedulerName tolerations hostAliases priorityClassName priority
    preemptionPolicy dnsConfig readinessGates runtimeClassName overhead enableServiceLinks topologySpreadConstraints os
    schedulingGates resourceClaims resources hostnameOverride schedulingGroup`),
  complete(form, { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers }) {
    form.SecurityContext = {
      HostNetwork: hostNetwork ?? false,
      HostPID: hostPID ?? false,
      HostIPC: hostIPC ?? false,
      ShareProcessNamespace: shareProcessNamespace ?? null,
      HostUsers: hostUsers ?? null,
      ...record(form.SecurityContext),
    };
  },
};

const exceptions: Readonly<Record<string, Exception>> = {
  "admissionregistration/v1.Mutation": { names: { jsonPatch: "JSONPatch" } },
  "core/v1.AzureDiskVolumeSource": { names: { diskURI: "DataDiskURI" } },
  "core/v1.FCVolumeSource": { names: { wwids: "WWIDs" } },
  "core/v1.GlusterfsPersistentVolumeSource": glusterfs,
  "core/v1.GlusterfsVolumeSource": glusterfs,
  "core/v1.ISCSIPersistentVolumeSource": iscsi,
  "core/v1.ISCSIVolumeSource": iscsi,
  "core/v1.PersistentVolumeSource": { names: sourceNames, order: persistentVolumeSources },
  "core/v1.PersistentVolumeSpec": {
    names: sourceNames,
    order: [
      "capacity",
      ...persistentVolumeSources,
      ...words(`accessModes claimRef persistentVolumeReclaimPolicy storageClassName mountOptions volumeMode nodeAffinity
        volumeAttributesClassName`),
    ],
  },
  "core/v1.PhotonPersistentDiskVolumeSource": { names: { pdID: "PdID" } },
  "core/v1.PodSecurityContext": {
    order:
      words(`seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups supplementalGroupsPolicy
      fsGroup fsGroupChangePolicy sysctls seccompProfile appArmorProfile seLinuxChangePolicy`),
  },
  "core/v1.PodSpec": podSpec,
  "core/v1.RBDPersistentVolumeSource": rbd,
  "core/v1.RBDVolumeSource": rbd,
  "core/v1.Volume": { names: sourceNames, order: ["name", ...volumeSources] },
  "networking/v1.ServiceCIDRSpec": { names: { cidrs: "CIDRs" } },
  "resource/v1.DeviceAttribute": {
    names: {
      int: "IntValue",
      bool: "BoolValue",
      string: "StringValue",
      version: "VersionValue",
      ints: "IntValues",
      bools: "BoolValues",
      strings: "StringValues",
      versions: "VersionValues",
    },
  },
};

/** What has more fields and items is shown as it is: each of many problems may be about the same long list. */
const mostValues = 1000;

/** The problems of an object with the values that upstream shows: those of structs in their internal form. */
export function* shownAsUpstream(struct: AnyStruct, problems: Iterable<Problem>): Iterable<Problem> {
  for (const problem of problems) {
    const isForm = problem.isHeld && isValueShown(problem) && !isWider(problem.value, mostValues);
    const type = isForm ? typeAt(struct, problem.field) : undefined;
    yield type ? { ...problem, value: typeForm(type, problem.value) } : problem;
  }
}

/** Whether a value has more fields and items than this, all levels together. */
export function isWider(value: unknown, most: number): boolean {
  let left = most;
  const visit = (inner: unknown): boolean => {
    if (typeof inner !== "object" || inner === null) return false;
    if (Array.isArray(inner) && inner.length > left) return true;
    for (const key in inner) if (--left < 0 || visit(inner[key as never])) return true;
    return false;
  };
  return visit(value);
}

/** The type at a path such as `spec.containers[0].ports`; undefined where the path leads nowhere. */
function typeAt(struct: AnyStruct, path: string): Type | undefined {
  let type: Type | undefined = { is: "struct", struct: () => struct };
  for (const match of path.matchAll(/\[([^\]]*)\]|[^.[]+/g)) {
    if (type?.is === "list") type = type.item;
    else if (type?.is === "map") type = type.value;
    else if (type?.is === "struct") type = type.struct().fields[match[1] ?? match[0]]?.spec.type;
    else return undefined;
  }
  return type;
}

/** The value of a struct as upstream's refusals show it. */
export function internalForm(struct: AnyStruct, value: Values): Values {
  // Types of meta/v1 are the same inside and outside.
  if (struct.name.startsWith("meta/")) return metaForm(struct, value);
  const { order, complete } = exceptions[struct.name] ?? {};
  const fields = struct.fields as Readonly<Record<string, { readonly spec: FieldSpec }>>;
  const form: Record<string, unknown> = {};
  for (const name of order ?? Object.keys(fields)) {
    const spec = fields[name]?.spec;
    if (spec === undefined || spec.envelope) continue;
    // Metadata is embedded, so that its fields stand beside the others.
    if (name === "metadata") Object.assign(form, typeForm(spec.type, value.metadata ?? {}));
    else form[goFieldName(struct, name)] = fieldForm(spec, value[name] ?? sentEmpty(value, name));
  }
  complete?.(form, value);
  return form;
}

/** The same of a value that was stored, which takes it through protobuf: there, what is empty is absent. */
export const storedForm = (struct: AnyStruct, value: Values): Values => internalForm(struct, structuredClone(value)); // a copy was never sent

/** Fields in their order, and maps in that of their keys. */
function metaForm(struct: AnyStruct, value: Values): Values {
  const fields = Object.entries(struct.fields as Readonly<Record<string, { readonly spec: FieldSpec }>>);
  return Object.fromEntries(
    fields.flatMap(([name, { spec }]) => (value[name] === undefined ? [] : [[name, typeForm(spec.type, value[name])]])),
  );
}

function fieldForm(spec: FieldSpec, value: unknown): unknown {
  if (value !== undefined && value !== null) return typeForm(spec.type, value);
  return spec.pointer ? null : zeroForm(spec);
}

function typeForm(type: Type, value: unknown): unknown {
  switch (type.is) {
    case "struct":
      return internalForm(type.struct(), record(value));
    case "list":
      if (!Array.isArray(value) || isFilledIn(value)) return null;
      return value.map((item) => typeForm(type.item, item));
    case "map":
      return Object.fromEntries(
        Object.entries(record(value))
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, one]) => [key, typeForm(type.value, one)]),
      );
    default:
      return value;
  }
}

const record = (value: unknown): Values => (typeof value === "object" && value !== null ? (value as Values) : {});

function zeroForm(spec: FieldSpec): unknown {
  switch (spec.type.is) {
    case "struct":
      return spec.default !== undefined || spec.required ? internalForm(spec.type.struct(), {}) : null;
    case "string":
      return "";
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "double":
    case "intOrString":
      return 0;
    case "quantity":
      return "0";
    default:
      return null;
  }
}

/** Words that Go writes in capitals when a name begins with them. */
const initials = new Set(
  words(
    "api aws ca cel cidr cpu csi dns fc fs gce gmsa grpc http id ip ipc iqn iscsi nfs os pd pid qos rbd se ssl tcp tls ttl tty uid url",
  ),
);

/** What a field is called in Go. */
export const goFieldName = (struct: AnyStruct, field: string): string =>
  exceptions[struct.name]?.names?.[field] ?? goName(field);

const goName = (name: string): string => {
  const [first = ""] = /^[a-z0-9]*/.exec(name) ?? [];
  const word = initials.has(first) ? first.toUpperCase() : first.charAt(0).toUpperCase() + first.slice(1);
  return word + name.slice(first.length);
};
