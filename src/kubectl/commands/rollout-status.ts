// How far a rollout is (upstream: kubectl/pkg/polymorphichelpers/rollout_status.go).
import { KubectlError } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";

interface Rollout {
  readonly metadata?: {
    readonly name?: string;
    readonly generation?: number;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly replicas?: number;
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } };
  };
  readonly status?: Readonly<Record<string, number | string | undefined>> & {
    readonly conditions?: readonly { readonly type?: string; readonly reason?: string }[];
  };
}

export interface RolloutStatus {
  readonly message: string;
  readonly isDone: boolean;
}

/** Throws KubectlError for what has no rollout, and for one that has failed. */
export function rolloutStatus(object: KubeObject, revision: number): RolloutStatus {
  const rollout = object as Rollout;
  switch (object.kind) {
    case "Deployment":
      return deploymentStatus(rollout, revision);
    case "DaemonSet":
      return daemonSetStatus(rollout);
    case "StatefulSet":
      return statefulSetStatus(rollout);
    default:
      throw new KubectlError(`no status viewer has been implemented for ${object.kind}`);
  }
}

const number = (value: unknown): number => (typeof value === "number" ? value : 0);
const going = (message: string): RolloutStatus => ({ message: `${message}\n`, isDone: false });
const done = (message: string): RolloutStatus => ({ message: `${message}\n`, isDone: true });
const isBehind = ({ metadata, status }: Rollout): boolean =>
  number(metadata?.generation) > number(status?.observedGeneration);

function deploymentStatus(rollout: Rollout, revision: number): RolloutStatus {
  const { metadata, spec, status = {} } = rollout;
  const name = JSON.stringify(metadata?.name);
  const noted = metadata?.annotations?.["deployment.kubernetes.io/revision"];
  if (revision > 0 && Number(noted) !== revision)
    throw new KubectlError(`desired revision (${revision}) is different from the running revision (${noted ?? 0})`);
  if (isBehind(rollout)) return going("Waiting for deployment spec update to be observed...");
  const conditions = (status.conditions ?? []) as readonly { type?: string; reason?: string }[];
  if (conditions.some(({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded"))
    throw new KubectlError(`deployment ${name} exceeded its progress deadline`);
  const wanted = spec?.replicas ?? 1;
  const [updated, total, available] = [
    number(status.updatedReplicas),
    number(status.replicas),
    number(status.availableReplicas),
  ];
  const waiting = `Waiting for deployment ${name} rollout to finish:`;
  if (updated < wanted) return going(`${waiting} ${updated} out of ${wanted} new replicas have been updated...`);
  if (total > updated) return going(`${waiting} ${total - updated} old replicas are pending termination...`);
  if (available < updated) return going(`${waiting} ${available} of ${updated} updated replicas are available...`);
  return done(`deployment ${name} successfully rolled out`);
}

function daemonSetStatus(rollout: Rollout): RolloutStatus {
  const { metadata, spec, status = {} } = rollout;
  if (spec?.updateStrategy?.type !== "RollingUpdate")
    throw new KubectlError(`rollout status is only available for RollingUpdate strategy type`);
  if (isBehind(rollout)) return going("Waiting for daemon set spec update to be observed...");
  const name = JSON.stringify(metadata?.name);
  const wanted = number(status.desiredNumberScheduled);
  const [updated, available] = [number(status.updatedNumberScheduled), number(status.numberAvailable)];
  const waiting = `Waiting for daemon set ${name} rollout to finish:`;
  if (updated < wanted) return going(`${waiting} ${updated} out of ${wanted} new pods have been updated...`);
  if (available < wanted) return going(`${waiting} ${available} of ${wanted} updated pods are available...`);
  return done(`daemon set ${name} successfully rolled out`);
}

function statefulSetStatus(rollout: Rollout): RolloutStatus {
  const { spec, status = {} } = rollout;
  if (spec?.updateStrategy?.type !== "RollingUpdate")
    throw new KubectlError(`rollout status is only available for RollingUpdate strategy type`);
  if (number(status.observedGeneration) === 0 || isBehind(rollout))
    return going("Waiting for statefulset spec update to be observed...");
  const wanted = spec.replicas ?? 1;
  const [ready, updated] = [number(status.readyReplicas), number(status.updatedReplicas)];
  if (ready < wanted) return going(`Waiting for ${wanted - ready} pods to be ready...`);
  const partition = spec.updateStrategy.rollingUpdate?.partition ?? 0;
  if (partition > 0) {
    if (updated < wanted - partition)
      return going(
        `Waiting for partitioned roll out to finish: ${updated} out of ${wanted - partition} new pods have been updated...`,
      );
    return done(`partitioned roll out complete: ${updated} new pods have been updated...`);
  }
  if (status.updateRevision !== status.currentRevision)
    return going(
      `waiting for statefulset rolling update to complete ${updated} pods at revision ${status.updateRevision}...`,
    );
  return done(
    `statefulset rolling update complete ${number(status.currentReplicas)} pods at revision ${status.currentRevision}...`,
  );
}
