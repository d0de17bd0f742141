import type { Deployment } from "#api/apps/v1/deployment.ts";
import type { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { equal } from "#base/collections.ts";
import { controllerOf } from "#rules/owners.ts";
import type { RestMapping } from "../../discovery/rest-mapper.ts";
import { compareText } from "../../go/value.ts";
import { selectorText, timeText, writeConditions, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type DescribeContext, type Describer, eventsOf, listAll, subjectOf, unlessRefused } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { writePodTemplate } from "../pod-template.ts";

const replicaSetMapping: RestMapping = {
  group: "apps",
  version: "v1",
  resource: "replicasets",
  singular: "replicaset",
  kind: "ReplicaSet",
  isNamespaced: true,
  verbs: [],
};

export const describeDeployment: Describer<Deployment> = async (deployment, context, w) => {
  const { metadata, spec, status } = deployment;
  const events = await eventsOf(context, subjectOf({ ...deployment }));
  const sets = (await unlessRefused(ownReplicaSets(context, deployment))) ?? [];
  writeIdentity(w, metadata);
  w.line(0, "CreationTimestamp:", timeText(metadata.creationTimestamp));
  writeTags(w, metadata);
  w.line(0, "Selector:", selectorText(spec.selector));
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, unavailableReplicas = 0 } = status;
  w.line(
    0,
    "Replicas:",
    `${spec.replicas} desired | ${updatedReplicas} updated | ${replicas} total | ${availableReplicas} available | ${unavailableReplicas} unavailable`,
  );
  w.line(0, "StrategyType:", spec.strategy.type ?? "");
  w.line(0, "MinReadySeconds:", spec.minReadySeconds ?? 0);
  const { rollingUpdate } = spec.strategy;
  if (rollingUpdate)
    w.line(
      0,
      "RollingUpdateStrategy:",
      `${rollingUpdate.maxUnavailable} max unavailable, ${rollingUpdate.maxSurge} max surge`,
    );
  writePodTemplate(w, spec.template);
  writeConditions(w, status.conditions);
  writeReplicaSets(w, deployment, sets);
  writeEvents(w, events, context.now);
};

/** The oldest first. */
async function ownReplicaSets(context: DescribeContext, { metadata, spec }: Deployment): Promise<ReplicaSet[]> {
  const labelSelector = selectorText(spec.selector);
  const all = await listAll<ReplicaSet>(context, replicaSetMapping, metadata.namespace ?? "", { labelSelector });
  const key = ({ metadata }: ReplicaSet) => `${metadata.creationTimestamp} ${metadata.name}`;
  return all.filter((set) => controllerOf(set)?.uid === metadata.uid).toSorted((a, b) => compareText(key(a), key(b)));
}

/** The one with the template of the deployment is the new one. */
function writeReplicaSets(w: DescriptionWriter, { spec }: Deployment, sets: readonly ReplicaSet[]): void {
  if (sets.length === 0) return;
  const current = sets.find((set) => equal(withoutHash(set.spec.template), withoutHash(spec.template)));
  const text = (some: readonly ReplicaSet[]) =>
    some
      .map(
        ({ metadata, spec, status }) => `${metadata.name} (${status.replicas ?? 0}/${spec.replicas} replicas created)`,
      )
      .join(", ") || "<none>";
  w.line(0, "OldReplicaSets:", text(sets.filter((set) => set !== current)));
  w.line(0, "NewReplicaSet:", text(current ? [current] : []));
}

function withoutHash({ metadata, spec }: PodTemplateSpec): unknown {
  const { labels = {}, ...rest } = metadata ?? {};
  const { "pod-template-hash": _, ...own } = labels;
  return { metadata: { ...rest, labels: own }, spec };
}
