// The versions of the API that this server serves itself, as objects: an aggregator would find others beside them.
// Upstream: pkg/controlplane/apiserver/aggregator.go.
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { groupPriorities } from "#api/group-priorities.ts";
import { localAvailability } from "../aggregation/availability.ts";
import { managedLabel } from "../aggregation/registration.ts";
import type { ServedApis } from "../served/served-apis.ts";
import type { SystemObject } from "./objects.ts";

const own = APIService.group;

/** Of the built-in versions that are served. */
export const localApiServices = (apis: ServedApis): readonly SystemObject[] => {
  const served = new Set(apis.of("built-in").map(({ kind }) => kind.apiVersion));
  return all.filter(({ object: { spec } }) => served.has(apiVersionOf(spec as Partial<APIService["spec"]>)));
};

const apiVersionOf = ({ group = "", version = "" }: Partial<APIService["spec"]>): string =>
  group === "" ? version : `${group}/${version}`;

const all: readonly SystemObject[] = Object.entries(groupPriorities)
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
            labels: { [managedLabel]: "onstart" },
          },
          spec: { ...(group && { group }), version, groupPriorityMinimum, versionPriority },
        },
        condition: { type: "Available", ...localAvailability },
      }),
    ),
  );
