import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label } from "#schema/formats.ts";
import {
  forbidden,
  type Infer,
  int32,
  int64,
  intOrString,
  invalid,
  list,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { same } from "../../core/v1/checks/same.ts";
import { PersistentVolumeClaim } from "../../core/v1/persistent-volume-claim.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import {
  checkAtMost100Percent,
  checkAtMostReplicas,
  checkCollisionCount,
  checkCountOrPercent,
  checkRunsForever,
  checkSelector,
  isNone,
} from "./checks.ts";
import { containerColumns } from "./columns.ts";

export const RollingUpdateStatefulSetStrategy = struct(
  "apps/v1.RollingUpdateStatefulSetStrategy",
  {
    partition: int32(1, "Only pods with this ordinal or a higher one are updated.").min(0).pointer(),
    maxUnavailable: intOrString(2, "How many pods may be missing during the update, as a number or a percentage.")
      .off("MaxUnavailableStatefulSet")
      .pointer(),
  },
  {
    *check({ maxUnavailable }) {
      if (maxUnavailable === undefined) return;
      yield* checkCountOrPercent("maxUnavailable", maxUnavailable);
      if (isNone(maxUnavailable)) yield invalid("maxUnavailable", "cannot be 0");
      yield* checkAtMost100Percent("maxUnavailable", maxUnavailable);
    },
  },
);
export interface RollingUpdateStatefulSetStrategy extends Infer<typeof RollingUpdateStatefulSetStrategy> {}

export const StatefulSetCondition = struct("apps/v1.StatefulSetCondition", {
  type: string(1, "What the condition is about.").required(),
  status: string(2, "True, False or Unknown.").required(),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface StatefulSetCondition extends Infer<typeof StatefulSetCondition> {}

export const StatefulSetOrdinals = struct("apps/v1.StatefulSetOrdinals", {
  start: int32(1, "The number of the first pod.").min(0).always(),
});
export interface StatefulSetOrdinals extends Infer<typeof StatefulSetOrdinals> {}

export const StatefulSetPersistentVolumeClaimRetentionPolicy = struct(
  "apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
  {
    whenDeleted: string(1, "What happens to the claims when the set is deleted: Retain or Delete.")
      .oneOf("Retain", "Delete")
      .publishedAs()
      .default("Retain"),
    whenScaled: string(2, "What happens to the claims of pods that scaling down removes: Retain or Delete.")
      .oneOf("Retain", "Delete")
      .publishedAs()
      .default("Retain"),
  },
);
export interface StatefulSetPersistentVolumeClaimRetentionPolicy
  extends Infer<typeof StatefulSetPersistentVolumeClaimRetentionPolicy> {}

export const StatefulSetUpdateStrategy = struct(
  "apps/v1.StatefulSetUpdateStrategy",
  {
    type: string(1, "Replace pods one after the other (RollingUpdate), or only as somebody deletes them (OnDelete).")
      .known("OnDelete", "RollingUpdate")
      .default("RollingUpdate"),
    rollingUpdate: ref(2, RollingUpdateStatefulSetStrategy, "How far a rolling update goes."),
  },
  {
    complete({ type, rollingUpdate }) {
      if (type === "RollingUpdate" && rollingUpdate) rollingUpdate.partition ??= 0;
    },
  },
);
export interface StatefulSetUpdateStrategy extends Infer<typeof StatefulSetUpdateStrategy> {}

export const StatefulSetSpec = struct(
  "apps/v1.StatefulSetSpec",
  {
    replicas: int32(1, "How many pods should run.").min(0).pointer().default(1),
    selector: ref(
      2,
      LabelSelector,
      "Which pods belong to the set; must match the labels of the template and cannot change.",
    )
      .required()
      .pointer(),
    template: ref(
      3,
      PodTemplateSpec,
      "The pod to run; each copy gets a name ending in its number. Its restartPolicy can only be Always.",
    ).required(),
    volumeClaimTemplates: list(
      4,
      PersistentVolumeClaim.struct,
      "Claims that every pod gets a copy of, and keeps when it is replaced.",
    ).checkedOnCreate(),
    serviceName: string(5, "The headless service under whose name the pods are found in DNS.").always(),
    podManagementPolicy: string(6, "Start and stop pods one after the other (OrderedReady) or all at once (Parallel).")
      .known("OrderedReady", "Parallel")
      .default("OrderedReady"),
    updateStrategy: ref(7, StatefulSetUpdateStrategy, "How old pods give way to new ones.").default({}),
    revisionHistoryLimit: int32(8, "How many old revisions to keep for rolling back.").pointer().default(10),
    minReadySeconds: int32(9, "Seconds a new pod must stay ready before it counts as available.").min(0),
    persistentVolumeClaimRetentionPolicy: ref(
      10,
      StatefulSetPersistentVolumeClaimRetentionPolicy,
      "What becomes of the claims when pods go for good.",
    )
      .pointer()
      .default({}),
    ordinals: ref(11, StatefulSetOrdinals, "How the pods are numbered."),
  },
  {
    complete(spec) {
      const { updateStrategy } = spec;
      // Only who says nothing about updates gets a rollingUpdate: `type: RollingUpdate` alone stays as it is.
      if (!updateStrategy.type) {
        updateStrategy.type = "RollingUpdate";
        updateStrategy.rollingUpdate ??= {};
      }
      for (const claim of spec.volumeClaimTemplates ?? []) {
        if (claim.apiVersion === "v1" && claim.kind === "PersistentVolumeClaim") continue; // may be shared: not to be touched
        claim.apiVersion = "v1";
        claim.kind = "PersistentVolumeClaim";
      }
    },
    checkedAs: (spec) => ({ ...spec, template: completePod(spec.template, spec.volumeClaimTemplates) }),
    problemOrder: `podManagementPolicy updateStrategy persistentVolumeClaimRetentionPolicy volumeClaimTemplates replicas minReadySeconds
      ordinals serviceName selector template.metadata.labels template`,
    *check(spec, old) {
      const { podManagementPolicy, updateStrategy, serviceName } = spec;
      if (podManagementPolicy !== "OrderedReady" && podManagementPolicy !== "Parallel")
        yield invalid("podManagementPolicy", "must be 'OrderedReady' or 'Parallel'");
      if (updateStrategy.type === "OnDelete") {
        if (updateStrategy.rollingUpdate)
          yield invalid("updateStrategy.rollingUpdate", "only allowed for updateStrategy 'RollingUpdate'");
      } else if (updateStrategy.type !== "RollingUpdate")
        yield invalid("updateStrategy", "must be 'RollingUpdate' or 'OnDelete'");
      // It cannot change, so an old set may keep a name that would be refused today.
      if (!old && serviceName) for (const detail of dns1123Label(serviceName)) yield invalid("serviceName", detail);
      yield* checkSelector(spec, "statefulset", "");
      yield* checkRunsForever(spec, "StatefulSet");
      if (old && !same(fixed(spec), fixed(old))) yield { ...forbidden("", fixedWords), isLast: true };
    },
  },
);
export interface StatefulSetSpec extends Infer<typeof StatefulSetSpec> {}

/** The template as the pods will be: each claim is a volume of its name, and the controller sets hostname and subdomain. */
function completePod(template: PodTemplateSpec, claims: readonly PersistentVolumeClaim[] = []): PodTemplateSpec {
  const { hostname: _hostname, subdomain: _subdomain, ...pod } = template.spec;
  // Of claims of the same name, upstream sees one.
  const names = [...new Set(claims.map(({ metadata }) => metadata.name))];
  const taken = new Set(names);
  const volumes = [
    ...names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...(pod.volumes ?? []).filter(({ name }) => !taken.has(name)),
  ];
  return { ...template, spec: names.length > 0 ? { ...pod, volumes } : pod };
}

/** All that cannot change. */
const fixed = ({ selector, volumeClaimTemplates, serviceName, podManagementPolicy }: StatefulSetSpec) => ({
  selector,
  volumeClaimTemplates,
  serviceName,
  podManagementPolicy,
});
const fixedWords =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

export const StatefulSetStatus = struct("apps/v1.StatefulSetStatus", {
  observedGeneration: int64(1, "Generation of the spec that this status describes.").min(0),
  replicas: int32(2, "Pods that exist.").min(0).required(),
  readyReplicas: int32(3, "Pods that are ready.").min(0),
  currentReplicas: int32(4, "Pods of the revision that is being replaced.").min(0),
  updatedReplicas: int32(5, "Pods of the newest revision.").min(0),
  currentRevision: string(6, "The revision that pods are being moved away from."),
  updateRevision: string(7, "The revision that pods are being moved to."),
  collisionCount: int32(9, "How often the name of a new revision was taken already; part of the next name.")
    .min(0)
    .pointer(),
  conditions: list(10, StatefulSetCondition, "What the controller has to report.").keyedBy("type"),
  availableReplicas: int32(11, "Pods that have been ready for minReadySeconds.").min(0).always(),
});
export interface StatefulSetStatus extends Infer<typeof StatefulSetStatus> {}

export const StatefulSet = resource({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  shortNames: ["sts"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "Runs pods that are not interchangeable: each keeps its number, its DNS name and its storage when it is replaced.",
  fields: {
    spec: ref(2, StatefulSetSpec, "What is wanted.").default({}),
    status: ref(3, StatefulSetStatus, "What is there.").default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
  nameFormat: dns1123Label,
  columns: [
    nameColumn,
    {
      name: "Ready",
      doc: "Pods that are ready, of those that should run.",
      cell: ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas}`,
    },
    ageColumn,
    ...containerColumns,
  ],
  *checkStatus({ status }, old) {
    yield* checkAtMostReplicas(status, "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas");
    if ((status.availableReplicas ?? 0) > (status.readyReplicas ?? 0))
      yield invalid("status.availableReplicas", "cannot be greater than status.readyReplicas");
    yield* checkCollisionCount(status, old.status);
  },
});
export interface StatefulSet extends Infer<typeof StatefulSet> {}
