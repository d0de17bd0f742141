// Templates with and without the label that tells the pods of one ReplicaSet from those of another.
// Upstream: pkg/controller/deployment/util/deployment_util.go.
import type { DeploymentSpec } from "#api/apps/v1/deployment.ts";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { equal } from "#base/collections.ts";

const hashLabel = "pod-template-hash";

export const sameTemplate = (a: PodTemplateSpec, b: PodTemplateSpec): boolean => equal(withoutHash(a), withoutHash(b));

export function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { labels, ...metadata } = template.metadata;
  const { [hashLabel]: _hash, ...others } = labels ?? {};
  return { ...template, metadata: { ...metadata, ...(Object.keys(others).length > 0 && { labels: others }) } };
}

/** The template and the selector of the ReplicaSet with this hash. */
export function withHash({ template, selector }: DeploymentSpec, hash: string) {
  const label = { [hashLabel]: hash };
  return {
    template: {
      ...template,
      metadata: { ...template.metadata, labels: { ...template.metadata.labels, ...label } },
    },
    selector: { ...selector, matchLabels: { ...selector.matchLabels, ...label } },
  };
}
