// Goes back to an earlier revision when the annotation of the oldest API versions asks for it. Today's kubectl patches the template itself.
// Upstream: pkg/controller/deployment/rollback.go.
import { Deployment } from "#api/apps/v1/deployment.ts";
import { parseInt64 } from "#schema/int64.ts";
import { inOrder, revisionOf, rollbackAnnotation, rolledBackAnnotations } from "./revisions.ts";
import type { DeploymentRollout } from "./rollout.ts";
import { sameTemplate, withoutHash } from "./template.ts";

/** The revision to go back to, 0 meaning the last one; undefined if there is nothing to do. */
export const rollbackRevision = ({ metadata }: Deployment): bigint | undefined =>
  parseInt64(metadata.annotations?.[rollbackAnnotation] ?? "");

export async function rollBack(rollout: DeploymentRollout, asked: bigint): Promise<undefined> {
  const { deployment, context } = rollout;
  await rollout.ensureNext();
  const revision = asked || lastRevision(rollout);
  const target = rollout.sets.find((rs) => revision !== 0n && revisionOf(rs) === revision);
  const { name } = deployment.metadata;
  if (!target) {
    const message = revision === 0n ? "Unable to find last revision." : "Unable to find the revision to rollback to.";
    context.event("Warning", "DeploymentRollbackRevisionNotFound", message);
    return clear(rollout, deployment);
  }
  if (sameTemplate(target.spec.template, deployment.spec.template)) {
    const message = `The rollback revision contains the same template as current deployment "${name}"`;
    context.event("Warning", "DeploymentRollbackTemplateUnchanged", message);
    return clear(rollout, deployment);
  }
  await clear(rollout, {
    ...deployment,
    metadata: { ...deployment.metadata, annotations: rolledBackAnnotations(deployment, target) },
    spec: { ...deployment.spec, template: withoutHash(target.spec.template) },
  });
  context.event("Normal", "DeploymentRollback", `Rolled back deployment "${name}" to revision ${revision}`);
}

async function clear({ context }: DeploymentRollout, deployment: Deployment): Promise<undefined> {
  const { [rollbackAnnotation]: _asked, ...annotations } = deployment.metadata.annotations ?? {};
  await context.client.update(Deployment, { ...deployment, metadata: { ...deployment.metadata, annotations } });
}

/** The second highest revision there is; 0 if there is none. */
function lastRevision({ sets }: DeploymentRollout): bigint {
  const previous = inOrder(sets).at(-2);
  return (previous && revisionOf(previous)) ?? 0n;
}
