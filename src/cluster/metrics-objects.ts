// What the API has about its metrics group: as metrics-server's own manifest has it, but for the service.
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { NodeMetrics } from "#api/metrics/v1beta1/node-metrics.ts";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { localAvailability } from "#apiserver/aggregation/availability.ts";
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";

export const metricsApiService = `${NodeMetrics.version}.${NodeMetrics.group}`;

const aggregated = (role: string) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, "true"];

/** The APIService, and the right to read for those who may view. */
export const metricsObjects: readonly SystemObject[] = [
  {
    kind: APIService,
    object: {
      apiVersion: APIService.apiVersion,
      kind: APIService.kind,
      metadata: { name: metricsApiService, labels: { "k8s-app": "metrics-server" } },
      spec: {
        group: NodeMetrics.group,
        version: NodeMetrics.version,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
    condition: { type: "Available", ...localAvailability },
  },
  {
    kind: ClusterRole,
    object: {
      apiVersion: ClusterRole.apiVersion,
      kind: ClusterRole.kind,
      metadata: {
        name: "system:aggregated-metrics-reader",
        labels: { "k8s-app": "metrics-server", ...Object.fromEntries(["admin", "edit", "view"].map(aggregated)) },
      },
      rules: [{ apiGroups: [NodeMetrics.group], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] }],
    },
  },
];
