// Upstream: pkg/registry/batch/job/strategy.go.
import type { Strategy } from "../registry/strategy.ts";

/** By default a job selects its pods by its own uid, which no other object has. */
export const job: Strategy = {
  countsGenerations: true,
  orphansDependents: true,
  deletionWarning:
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  prepareForCreate(object) {
    const { spec, metadata } = object;
    if (spec?.manualSelector) return;
    const name = metadata.name ?? ""; // validation names what is missing
    const template = { metadata: {}, ...spec.template };
    const isAlsoOfJob = metadata.labels !== undefined && metadata.labels === template.metadata.labels;
    spec.selector = {
      ...spec.selector,
      matchLabels: { ...spec.selector?.matchLabels, "batch.kubernetes.io/controller-uid": metadata.uid },
    };
    spec.template = {
      ...template,
      metadata: {
        ...template.metadata,
        labels: {
          "batch.kubernetes.io/controller-uid": metadata.uid,
          "batch.kubernetes.io/job-name": name,
          "controller-uid": metadata.uid,
          "job-name": name,
          ...template.metadata.labels, // validation refuses labels that say otherwise
        },
      },
    };
    if (isAlsoOfJob) metadata.labels = { ...spec.template.metadata.labels };
  },
};
