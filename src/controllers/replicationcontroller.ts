// Keeps as many pods running as each ReplicationController asks for.
// Upstream: pkg/controller/replication/replication_controller.go.
import { Pod } from "#api/core/v1/pod.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { controller } from "#client/controller.ts";
import { type Labels, labelMatcher, requirementsOfLabels } from "#schema/selector.ts";
import { wakenByOrphans } from "./pods.ts";
import { reconcileReplicas } from "./replicas.ts";

export const replicationControllerController = controller({
  name: "replicationcontroller",
  queue: "replicationmanager",
  reportsAs: "replication-controller",
  for: ReplicationController,
  owns: [Pod],
  watches: [wakenByOrphans(ReplicationController, ({ spec }, pod) => selectsIn(spec.selector)(pod.metadata.labels))],

  async reconcile(rc, context) {
    const { replicas, minReadySeconds = 0, template, selector } = rc.spec;
    const { client, cache } = context;
    return reconcileReplicas(
      {
        kind: ReplicationController,
        object: rc,
        replicas,
        minReadySeconds,
        template,
        status: rc.status,
        selects: selectsIn(selector),
        countsTerminating: false,
        related: () => cache.owned(Pod, rc),
        writeStatus: (status) => client.update(ReplicationController, { ...rc, status }, "status"),
      },
      context,
    );
  },
});

/** Without a selector nothing is selected. */
const selectsIn = (selector: Labels | undefined): ((labels: Labels | undefined) => boolean) =>
  Object.keys(selector ?? {}).length === 0 ? () => false : labelMatcher(requirementsOfLabels(selector ?? {}));
