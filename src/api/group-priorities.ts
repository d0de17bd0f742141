// Which group is asked first for a resource that several have, and the order in which clients see them.
import type { GroupPriority } from "#schema/discovery.ts";

export const groupPriorities: Readonly<Record<string, GroupPriority>> = {
  // Served by the aggregator itself, before all that it aggregates.
  "apiregistration.k8s.io": { group: 17_900, versions: { v1: 15 } },
  "": { group: 18000, versions: { v1: 1 } },
  apps: { group: 17800, versions: { v1: 15 } },
  "events.k8s.io": { group: 17750, versions: { v1: 15 } },
  "authentication.k8s.io": { group: 17700, versions: { v1: 15 } },
  "authorization.k8s.io": { group: 17600, versions: { v1: 15 } },
  autoscaling: { group: 17500, versions: { v2: 30, v1: 15 } },
  batch: { group: 17400, versions: { v1: 15 } },
  "certificates.k8s.io": { group: 17300, versions: { v1: 15 } },
  "networking.k8s.io": { group: 17200, versions: { v1: 15 } },
  policy: { group: 17100, versions: { v1: 15 } },
  "rbac.authorization.k8s.io": { group: 17000, versions: { v1: 15 } },
  "storage.k8s.io": { group: 16800, versions: { v1: 15 } },
  "admissionregistration.k8s.io": { group: 16700, versions: { v1: 15, v1alpha1: 9 } },
  "apiextensions.k8s.io": { group: 16700, versions: { v1: 15 } },
  "scheduling.k8s.io": { group: 16600, versions: { v1: 15 } },
  "coordination.k8s.io": { group: 16500, versions: { v1: 15 } },
  "node.k8s.io": { group: 16300, versions: { v1: 15 } },
  "discovery.k8s.io": { group: 16200, versions: { v1: 15 } },
  "resource.k8s.io": { group: 16200, versions: { v1: 21 } },
  "flowcontrol.apiserver.k8s.io": { group: 16100, versions: { v1: 21 } },
};
