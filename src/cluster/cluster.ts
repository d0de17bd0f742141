// The composition root: every part of a cluster in one process. A function of what it is given, so that a test can start the very
// same cluster on a clock it moves by hand. The parts meet at the API alone, each under an identity of its own: the
// requests of this process pass the same authorization and admission as those that come over the network.
import { Pod } from "#api/core/v1/pod.ts";
import { type AdmissionSettings, admissionOf } from "#apiserver/admission/configuration.ts";
import type { AggregationSettings } from "#apiserver/aggregation/aggregator.ts";
import { assembleApiServer } from "#apiserver/assemble.ts";
import type { AssemblyOptions } from "#apiserver/assembly/options.ts";
import { publicPathsFirst } from "#apiserver/authorization/authorizer.ts";
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";
import type { AdvertisedAddress } from "#apiserver/bootstrap/system-objects.ts";
import type { NodeConnection } from "#apiserver/node-connection.ts";
import { discoveryOf } from "#apiserver/served/discovery.ts";
import type { Protection } from "#apiserver/stored.ts";
import type { ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";
import type { WebhookTransport } from "#apiserver/webhook/transport.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { type Component, outlive, supervise } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Client } from "#client/client.ts";
import { fenced } from "#client/election.ts";
import { Informers } from "#client/informers.ts";
import { measuredTransport } from "#client/measured-transport.ts";
import { keyOf } from "#client/object-key.ts";
import type { NodeStorage } from "#controllers/local-storage/node-storage.ts";
import type { NodeHealth } from "#kubelet/node/description.ts";
import type { KubeletRequest } from "#kubelet/server/server.ts";
import type { HealthCheck } from "#serving/health.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpHandler, HttpResponse } from "#wire/http.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import type { ControllerManagerSettings } from "./controller-manager.ts";
import * as identities from "./identities.ts";
import { identityBindings } from "./identity-bindings.ts";
import { clientsOver, leadingParts } from "./leading-parts.ts";
import { localStorage, localStorageAccount, localStorageObjects } from "./local-storage.ts";
import { metricsApi } from "./metrics-api.ts";
import { metricsObjects } from "./metrics-objects.ts";
import { NodeArrivals } from "./node-arrivals.ts";
import { throughProcess } from "./nodes-in-process.ts";
import { processMetrics } from "./process-metrics.ts";
import { apiVersionInfo } from "./version.ts";

export interface ClusterConfig {
  readonly network: ServiceNetwork;
  /** What the API server's certificate is checked against, in PEM. */
  readonly rootCa: string;
  /** Signs the certificates that are asked for; none are without. */
  readonly signing?: ControllerManagerSettings["signing"];
  /** How the API server knows those who come over the network. */
  readonly identity: Pick<
    AssemblyOptions,
    "authenticators" | "tokens" | "bootstrapTokens" | "serviceAccounts" | "audiences"
  >;
  /** From which services of type LoadBalancer get their addresses: networks or ranges. */
  readonly loadBalancerAddresses: readonly string[];
  readonly nodes: (parts: NodeParts) => ClusterNodes;
  /** Whether nodes have to be ready for the cluster to be; otherwise, as where somebody else brings their network, they have to be there. */
  readonly waitsForReadyNodes?: boolean;
  /** Where nodes of other machines get networks from, and the account of the controllers that look after such machines. */
  readonly machines?: Pick<ControllerManagerSettings, "nodeIpam" | "machineAccount">;
  /** What the cluster has besides the objects that every cluster has. */
  readonly objects?: readonly SystemObject[];
  /** Admission plugins to enable and to disable, relative to the defaults. */
  readonly admission?: Pick<AdmissionSettings, "enable" | "disable">;
  /** Which built-in kinds are served, and whether new objects wait for initializers. */
  readonly served?: Pick<AssemblyOptions, "kinds" | "initializes">;
  /** The name of this process among those that share the store: its controllers and its scheduler work only while they lead. Alone by default. */
  readonly candidate?: string;
}

/** What nodes in this process are made with. */
export interface NodeParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Shared by all parts of the process. */
  readonly informers: Informers;
  /** Acts as `system:node:NAME`. */
  readonly clientFor: (node: string) => Client;
  /** To be called for each node that was registered since this process began. */
  readonly registered: (node: string) => void;
}

/** The nodes that live in this process. */
export interface ClusterNodes extends Component {
  readonly names: readonly string[];
  /** Where volumes can be made on them; without, claims wait for somebody else to make some. */
  readonly storage?: NodeStorage;
  /** What the node's kubelet answers over HTTP. Throws NodeUnreachable. */
  handle(node: string, request: KubeletRequest): Promise<HttpResponse>;
  isOn(node: string): boolean;
  /** Simulates a power failure of the node. */
  stop(node: string): void;
  /** Switches it on again. */
  start(node: string): void;
  /** Makes the node report pressure, or that it is not ready. */
  setHealth(node: string, health: NodeHealth): void;
}

/** The world around a cluster. */
export interface Environment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: StoreEngine;
  /** The way to kubelets and pods that are not in this process. */
  readonly connection: NodeConnection;
  /** Keeps stored objects from being changed; nothing does by default. */
  readonly protect?: Protection;
  /** Reads large YAML; without it, that is refused. */
  readonly readYaml?: YamlReader;
  /** The way to webhooks; without it none is reached. */
  readonly webhooks?: WebhookTransport;
  /** How the servers of aggregated APIs are reached; without it none is. */
  readonly aggregation?: AggregationSettings;
  /** What the API server is asked for besides when it is asked how it is. */
  readonly healthChecks?: readonly HealthCheck[];
  /** How others reach the API; without one only this process does. */
  readonly front?: Front;
}

export interface Front {
  /** Begins to serve; where it can be reached. */
  open(handler: HttpHandler): Promise<AdvertisedAddress>;
  close(): Promise<void>;
}

export interface Cluster extends Component {
  /** The switches of its nodes. */
  readonly nodes: Pick<ClusterNodes, "stop" | "start" | "setHealth">;
  /** Shared by all parts of the process. */
  readonly informers: Informers;
  /** A client that acts as this user. It refuses writes whenever `mayWrite` says no; nothing does by default. */
  clientFor(user: User, part: string, mayWrite?: () => boolean): Client;
  /** Resolves when the API is served. */
  serving(signal: AbortSignal): Promise<void>;
  /** Resolves when a pod could be created and would run. */
  ready(signal: AbortSignal): Promise<void>;
}

/** Without it the Node authorizer lets each node write every node and every pod, as it leaves what is in a body to admission. */
export const withNodeRestriction = ({ enable = [], disable = [] }: AdmissionSettings = {}): AdmissionSettings => ({
  enable: disable.includes("NodeRestriction") ? enable : ["NodeRestriction", ...enable],
  disable,
});

const unreachable: AdvertisedAddress = { address: undefined, port: 443 };

export function assembleCluster(config: ClusterConfig, environment: Environment): Cluster {
  const { clock, random, log, store, connection, front } = environment;
  const served = Promise.withResolvers<void>();
  const metrics = processMetrics();
  const toNodes = throughProcess(() => nodes, connection);
  const server = assembleApiServer({
    store,
    clock,
    random,
    log: log.with({ component: "apiserver" }),
    ...config.identity,
    authorizers: (own) => [publicPathsFirst, own.node, own.rbac],
    bootstrapPolicy: true,
    admission: admissionOf(withNodeRestriction(config.admission)),
    ...config.served,
    nodes: toNodes,
    network: config.network,
    components: [
      synced("controller-manager", () => informers.hasSynced),
      synced("scheduler", () => leading.scheduler?.hasSynced ?? informers.hasSynced),
    ],
    schedulingOf: (place) => {
      const pod = informers.of(Pod).cache.get(keyOf(place));
      return pod && leading.scheduler?.attempts.of(pod.metadata);
    },
    version: apiVersionInfo(),
    metrics,
    ...(environment.protect && { protect: environment.protect }),
    ...(environment.readYaml && { readYaml: environment.readYaml }),
    ...(environment.aggregation && { aggregation: environment.aggregation }),
    ...(environment.webhooks && { webhooks: environment.webhooks }),
    ...(environment.healthChecks && { healthChecks: environment.healthChecks }),
  });
  const transport = measuredTransport(server.request, { host: "in-process", clock, metrics });
  const clientFor = clientsOver(transport);

  const partOf = (component: string) => ({ clock, random, metrics, log: log.with({ component }) });
  const manager = clientFor(identities.userOf(identities.controllerManager), "kube-controller-manager");
  /** Shared by all parts, and filled by the one that may list everything. */
  const informers = new Informers({ ...partOf("controller-manager"), client: manager });
  const settings: ControllerManagerSettings = {
    discovery: discoveryOf(server.apis, server.aggregator.discovery),
    rootCa: config.rootCa,
    ...(config.identity.serviceAccounts && { signToken: config.identity.serviceAccounts.keys.sign }),
    ...(config.signing && { signing: config.signing }),
    loadBalancerAddresses: config.loadBalancerAddresses,
    ...config.machines,
    terminatedPodThreshold: 12_500,
  };
  const leading = leadingParts({ partOf, transport, settings, informers, candidate: config.candidate });

  const arrivals = new NodeArrivals();
  const nodes = config.nodes({
    ...partOf("kubelet"),
    informers,
    registered: (name) => arrivals.registered(name),
    clientFor: (name) => clientFor(identities.userOf(identities.node(name)), "kubelet"),
  });

  const volumes = nodes.storage && [
    localStorage(nodes.storage, {
      ...partOf("local-provisioner"),
      client: clientFor(identities.serviceAccount(localStorageAccount), localStorageAccount),
      informers,
    }),
  ];

  const usage = metricsApi({
    ...partOf("metrics-server"),
    apis: server.apis,
    remote: server.aggregator.apis,
    informers,
    connection: toNodes,
  });

  /** Everything but the server waits until it serves: each part would find its way, but only after some refusals. */
  const whenServed: Component = {
    name: "cluster",
    async run(signal) {
      const advertised = (await front?.open(server.handle)) ?? unreachable;
      try {
        await server.ready(signal);
        // Once in each start and not in every round, so that a binding can be removed to take away its rights.
        const once = [...identityBindings, ...metricsObjects, ...(volumes ? localStorageObjects : [])];
        await server.system(advertised, once).attempt(signal);
        const system = server.system(advertised, config.objects);
        await system.attempt(signal);
        served.resolve();
        await supervise(
          [system, server.aggregator, informers, ...leading.components, nodes, usage, ...(volumes ?? [])],
          signal,
        );
      } finally {
        await front?.close();
      }
    },
  };

  return {
    name: "cluster",
    nodes,
    informers,
    clientFor: (user, part, mayWrite) => (mayWrite ? clientsOver(fenced(transport, mayWrite)) : clientFor)(user, part),
    run: (signal) => outlive(server, whenServed, signal),
    serving: (signal) => unlessAborted(served.promise, signal),
    async ready(signal) {
      await this.serving(signal);
      await arrivals.ready(informers, nodes, config.waitsForReadyNodes !== false, signal);
    },
  };
}

const synced = (name: string, hasSynced: () => boolean): HealthCheck => ({
  name,
  async check() {
    if (!hasSynced()) throw new Error("its caches are not filled yet");
  },
});
