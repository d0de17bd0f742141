import { equal } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import {
  bool,
  duplicate,
  type Infer,
  int64,
  invalid,
  list,
  notSupported,
  ref,
  resource,
  string,
  struct,
} from "#schema/index.ts";

export const TokenRequest = struct("storage/v1.TokenRequest", {
  audience: string(1, "Who the token is for.").required(),
  expirationSeconds: int64(2, "How long the token is good for.").pointer(),
});
export interface TokenRequest extends Infer<typeof TokenRequest> {}

export const CSIDriverSpec = struct(
  "storage/v1.CSIDriverSpec",
  {
    attachRequired: bool(1, "Whether volumes must be attached to a node before they are mounted; cannot change.")
      .pointer()
      .default(true),
    podInfoOnMount: bool(2, "Whether the driver is told about the pod when it mounts.").pointer().default(false),
    volumeLifecycleModes: list(
      3,
      "string",
      "Which volumes it serves: Persistent ones, or Ephemeral ones within pods. Cannot change.",
    )
      .asSet()
      .default(["Persistent"]),
    storageCapacity: bool(4, "Whether the scheduler should look at the capacity the driver reports.")
      .pointer()
      .default(false),
    fsGroupPolicy: string(5, "Whether the volumes' owner may be changed to the fsGroup of pods.")
      .oneOf("File", "None", "ReadWriteOnceWithFSType")
      .publishedAs()
      .pointer()
      .default("ReadWriteOnceWithFSType"),
    tokenRequests: list(6, TokenRequest, "Tokens of the pod's service account that the driver gets."),
    requiresRepublish: bool(7, "Whether the driver is asked again and again to refresh its mounts.")
      .pointer()
      .default(false),
    seLinuxMount: bool(8, "Whether volumes can be mounted with an SELinux label.").pointer().default(false),
    nodeAllocatableUpdatePeriodSeconds: int64(
      9,
      "How often the number of volumes per node is asked for anew.",
    ).pointer(),
    serviceAccountTokenInSecrets: bool(
      10,
      "Whether tokens are passed as secrets instead of in the volume context.",
    ).pointer(),
    preventPodSchedulingIfMissing: bool(11, "Whether pods wait when a node has no such driver.")
      .off("VolumeLimitScaling")
      .pointer(),
  },
  {
    *check(spec, old) {
      const { tokenRequests = [], volumeLifecycleModes, nodeAllocatableUpdatePeriodSeconds: period } = spec;
      const audiences = new Set<string>();
      for (const [i, { audience, expirationSeconds: seconds }] of tokenRequests.entries()) {
        if (audiences.has(audience)) {
          yield duplicate(`tokenRequests[${i}].audience`);
          continue;
        }
        audiences.add(audience);
        if (seconds === undefined) continue;
        const field = `tokenRequests[${i}].expirationSeconds`;
        if (seconds < 600) yield invalid(field, "may not specify a duration less than 10 minutes");
        if (seconds > 2 ** 32) yield invalid(field, "may not specify a duration larger than 2^32 seconds");
      }
      for (const mode of volumeLifecycleModes)
        if (mode !== "Persistent" && mode !== "Ephemeral")
          yield notSupported("volumeLifecycleModes", ["Persistent", "Ephemeral"], mode);
      if (period !== undefined && period < 10)
        yield invalid("nodeAllocatableUpdatePeriodSeconds", "must be greater than or equal to 10 seconds");
      if (spec.serviceAccountTokenInSecrets !== undefined && tokenRequests.length === 0)
        yield invalid(
          "serviceAccountTokenInSecrets",
          "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        );
      // Upstream misspells the first path, and clients have learnt it.
      if (old && spec.attachRequired !== old.attachRequired)
        yield invalid("attachedRequired", "field is immutable", spec.attachRequired);
      if (old && !equal(volumeLifecycleModes, old.volumeLifecycleModes))
        yield invalid("volumeLifecycleModes", "field is immutable");
    },
  },
);
export interface CSIDriverSpec extends Infer<typeof CSIDriverSpec> {}

export const CSIDriver = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSIDriver",
  plural: "csidrivers",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "A storage driver that is installed in the cluster, and what it can do.",
  fields: {
    spec: ref(2, CSIDriverSpec, "What the driver can do.").required(),
  },
  columns: [
    nameColumn,
    {
      name: "AttachRequired",
      type: "boolean",
      doc: "Whether volumes must be attached first.",
      cell: ({ spec }) => spec.attachRequired,
    },
    {
      name: "PodInfoOnMount",
      type: "boolean",
      doc: "Whether it is told about the pod.",
      cell: ({ spec }) => spec.podInfoOnMount,
    },
    {
      name: "StorageCapacity",
      type: "boolean",
      doc: "Whether it reports its capacity.",
      cell: ({ spec }) => spec.storageCapacity,
    },
    {
      name: "TokenRequests",
      doc: "Audiences of the tokens it gets.",
      cell: ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience).join(",") ?? "<unset>",
    },
    {
      name: "RequiresRepublish",
      type: "boolean",
      doc: "Whether its mounts are refreshed.",
      cell: ({ spec }) => spec.requiresRepublish,
    },
    {
      name: "Modes",
      doc: "Which volumes it serves.",
      cell: ({ spec }) => spec.volumeLifecycleModes.join(",") || "<none>",
    },
    ageColumn,
  ],
});
export interface CSIDriver extends Infer<typeof CSIDriver> {}
