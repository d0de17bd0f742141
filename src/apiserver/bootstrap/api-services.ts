// The versions of the API that this server serves itself, as objects: an aggregator would find others beside them.
// Upstream: pkg/controlplane/apiserver/aggregator.go.
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { groupPriorities } from "#api/group-priorities.ts";
import type { SystemObject } from "./objects.ts";

const own = APIService.group;

export const localApiServices: readonly SystemObject[] = Object.entries(groupPriorities)
  .filter(([group]) => group !== own)
  .flatMap(([group, { group: groupPriorityMinimum, versions }]) =>
    Object.entries(versions).map(
      ([version, versionPriority]): SystemObject => ({
        kind: APIService,
        object: {
          apiVersion: APIService.apiVersion,
          kind: APIService.kind,
          metadata: {
            name: `${version}.${group}`,
            labels: { "kube-aggregator.kubernetes.io/automanaged": "onstart" },
          },
          spec: { ...(group && { group }), version, groupPriorityMinimum, versionPriority },
        },
        condition: {
          type: "Available",
          status: "True",
          reason: "Local",
          message: "Local APIServices are always available",
        },
      }),
    ),
  );
