// Replication controllers.
// Upstream: pkg/apis/core/validation/validation.go.
import { forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import type { ReplicationControllerSpec, ReplicationControllerStatus } from "../replication-controller.ts";
import { isEmpty } from "./problems.ts";

export function* checkReplicationController({ selector, template }: ReplicationControllerSpec): Iterable<Problem> {
  if (isEmpty(selector)) yield required("selector");
  if (!template) return yield required("template");
  const labels = new Map(Object.entries(template.metadata.labels ?? {}));
  if (Object.entries(selector ?? {}).some(([key, value]) => labels.get(key) !== value))
    yield invalid("template.metadata.labels", "`selector` does not match template `labels`");
  const { restartPolicy, activeDeadlineSeconds } = template.spec;
  if (restartPolicy !== "Always") yield notSupported("template.spec.restartPolicy", ["Always"]);
  if (activeDeadlineSeconds !== undefined)
    yield forbidden(
      "template.spec.activeDeadlineSeconds",
      "activeDeadlineSeconds in ReplicationController is not Supported",
    );
}

export function* checkReplicationStatus(status: ReplicationControllerStatus): Iterable<Problem> {
  for (const name of ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] as const)
    if ((status[name] ?? 0) > status.replicas) yield invalid(name, "cannot be greater than status.replicas");
  if ((status.availableReplicas ?? 0) > (status.readyReplicas ?? 0))
    yield invalid("availableReplicas", "cannot be greater than readyReplicas");
}
