// A scheduler on an API server in memory.
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import type { SchedulerOptions } from "#scheduler/scheduler-state.ts";
import type { Draft } from "#schema/infer.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";

export interface SchedulingCluster extends TestCluster {
  readonly scheduler: Scheduler;
  haveNode(name: string, more?: Draft<Node>): Promise<Node>;
  havePod(name: string, more?: Draft<Pod>): Promise<Pod>;
  pod(name: string): Promise<Pod>;
  /** Which node a pod has. */
  nodeOf(name: string): Promise<string | undefined>;
  /** What was reported: `FailedScheduling: 0/1 nodes …`. */
  events(): Promise<readonly string[]>;
}

const allocatable = { cpu: "2", memory: "4Gi", pods: "10" };
const namespace = "default";

/** With `fail`, requests of the scheduler fail for which it gives an error. */
export async function schedulingCluster(
  options: Partial<SchedulerOptions> = {},
  fail: (request: ApiRequest) => Error | undefined = () => undefined,
): Promise<SchedulingCluster> {
  let scheduler: Scheduler | undefined;
  const cluster = await testCluster({
    controllers: [],
    transport:
      ({ server }) =>
      async (request) => {
        const error = fail(request);
        if (error) throw error;
        return server.request(request);
      },
    components: ({ client, informers, server }) => {
      const { clock } = server;
      scheduler = new Scheduler({ client, informers, clock, random: seededRandom(3), log: silentLog, ...options });
      return [scheduler];
    },
  });
  const { client } = cluster;
  return {
    ...cluster,
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    scheduler: scheduler as Scheduler,
    haveNode: (name, more = {}) =>
      client.create(Node, {
        ...more,
        metadata: { name, ...more.metadata, labels: { "kubernetes.io/hostname": name, ...more.metadata?.labels } },
        status: { allocatable, capacity: allocatable, ...more.status },
      }),
    havePod: (name, more = {}) =>
      client.create(Pod, {
        ...more,
        metadata: { name, namespace, ...more.metadata },
        spec: { containers: [{ name: "app", image: "app" }], ...more.spec },
      }),
    pod: (name) => client.get(Pod, { namespace, name }),
    nodeOf: async (name) => (await client.get(Pod, { namespace, name })).spec.nodeName,
    events: async () => (await client.list(Event)).items.map(({ reason, message }) => `${reason}: ${message}`),
  };
}

/** Containers that ask for so much. */
export const asking = (requests: Readonly<Record<string, string>>, more: Draft<Pod["spec"]> = {}): Draft<Pod> => ({
  spec: { containers: [{ name: "app", image: "app", resources: { requests } }], ...more },
});
