// metrics.k8s.io as a group of this process: what metrics-server would answer, at the same paths and behind the same APIService. Whoever
// installs metrics-server lets that object name its service, and then it is asked instead of this.
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { NodeMetrics } from "#api/metrics/v1beta1/node-metrics.ts";
import { PodMetrics } from "#api/metrics/v1beta1/pod-metrics.ts";
import type { RemoteApis } from "#apiserver/aggregation/remote-apis.ts";
import { wholeOf } from "#apiserver/aggregation/remote-calls.ts";
import { kubeletAt } from "#apiserver/connect/location.ts";
import type { NodeConnection } from "#apiserver/node-connection.ts";
import type { ServedApis } from "#apiserver/served/served-apis.ts";
import { readOnlyResource } from "#apiserver/virtual/read-only.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Informers } from "#client/informers.ts";
import { nodeMetrics, podMetrics } from "#metrics-server/metrics.ts";
import { MetricsScraper } from "#metrics-server/scraper.ts";
import type { ApiObject } from "#schema/object.ts";
import { notFound } from "#wire/status.ts";
import { metricsApiService } from "./metrics-objects.ts";

export interface MetricsApiOptions {
  readonly apis: ServedApis;
  readonly remote: RemoteApis;
  readonly informers: Informers;
  readonly connection: NodeConnection;
  readonly clock: Clock;
  readonly log: Log;
}

const source = NodeMetrics.group;
/** Of what a kubelet tells: a thousand containers take about half a megabyte. */
const answerLimit = 64 * 1024 * 1024;

/** Serves the group as long as there is an APIService for it, and measures all the while. */
export function metricsApi(options: MetricsApiOptions): Component {
  const { apis, remote, informers, clock, log } = options;
  const [nodes, pods] = [informers.of(Node), informers.of(Pod)];
  const scraper = new MetricsScraper({ nodes, pods, clock, log, read: readerOf(options.connection) });
  const ofNode = (node: Node) => nodeMetrics(node, scraper.windowsOf(node.metadata.name), clock.now());
  const ofPod = (pod: Pod) => podMetrics(pod, scraper.windowsOf(pod.spec.nodeName ?? ""), clock.now());
  const resources = [
    readOnlyResource(NodeMetrics, {
      get: (_, name) => ofNode(nodes.cache.get(name) ?? missing("nodes", name)),
      list: () => present(nodes.cache.list().map(ofNode)),
    }),
    readOnlyResource(PodMetrics, {
      get: (namespace, name) => ofPod(pods.cache.get({ namespace, name }) ?? missing("pods", name)),
      list: (namespace) => present(pods.cache.list(namespace).map(ofPod)),
    }),
  ];
  const serve = () => {
    const wanted = remote.isRegistered(metricsApiService) ? resources : [];
    if (apis.of(source).length !== wanted.length) apis.replace(source, wanted);
  };
  return {
    name: "metrics API",
    async run(signal) {
      const stop = remote.subscribe((name) => {
        if (name === metricsApiService) serve();
      });
      try {
        serve();
        await supervise([scraper], signal);
      } finally {
        stop();
        apis.replace(source, []);
      }
    },
  };
}

const readerOf = (connection: NodeConnection) => async (node: Node, signal: AbortSignal) => {
  const location = kubeletAt(node as ApiObject, connection.addressTypes);
  const request = { method: "GET", url: "/metrics/resource", headers: {}, signal };
  const response = await connection.kubelet(location, request);
  const text = new TextDecoder().decode(await wholeOf(response, answerLimit));
  if (response.code !== 200) throw new Error(`the kubelet answered with ${response.code}: ${text.slice(0, 200)}`);
  return text;
};

const missing = (resource: string, name: string): never => {
  throw notFound({ group: "", resource }, name);
};

const present = (all: readonly (ApiObject | undefined)[]): readonly ApiObject[] =>
  all
    .filter((object) => object !== undefined)
    .toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : keyText(a) > keyText(b) ? 1 : 0));

const keyText = ({ metadata }: ApiObject): string => `${metadata.namespace ?? ""}/${metadata.name}`;
