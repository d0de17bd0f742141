// Upstream: staging/src/k8s.io/pod-security-admission/admission/pods.go.
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { CronJob } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { PodTemplate } from "#api/core/v1/pod-template.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { PodToCheck } from "./check.ts";

/** Where the pods-to-be are in what makes pods. */
export const podTemplates: readonly (readonly [AnyKind, (object: ApiObject) => PodToCheck | undefined])[] = [
  [PodTemplate, ({ template }) => template],
  [CronJob, ({ spec }) => spec.jobTemplate.spec.template],
  ...[ReplicationController, ReplicaSet, Deployment, DaemonSet, StatefulSet, Job].map(
    (kind) => [kind, ({ spec }: ApiObject) => spec.template] as const,
  ),
];
