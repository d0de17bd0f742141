// What an API server is made of, and what it offers.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { HealthCheck } from "#serving/health.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import type { AdmissionServer } from "../admission/server.ts";
import type { AggregationSettings, Aggregator } from "../aggregation/aggregator.ts";
import type { AuditOptions } from "../audit/trail.ts";
import type { IdentityOptions } from "../authentication/identity.ts";
import type { AuthorizersOf } from "../authorization/own-authorizers.ts";
import type { SystemObject } from "../bootstrap/objects.ts";
import type { AdvertisedAddress, SystemObjects } from "../bootstrap/system-objects.ts";
import type { InFlightLimits } from "../in-flight.ts";
import type { NodeConnection } from "../node-connection.ts";
import type { SchedulingOf } from "../paths/observation.ts";
import type { Admission } from "../registry/admission.ts";
import type { RuntimeKinds } from "../served/runtime-kinds.ts";
import type { ServedApis } from "../served/served-apis.ts";
import type { StrategyOf } from "../served/stored-resources.ts";
import type { ApiServer } from "../server.ts";
import type { Protection } from "../stored.ts";
import type { ServiceNetwork } from "../strategies/service/ranges.ts";
import type { WebhookTransport } from "../webhook/transport.ts";

export interface AssemblyOptions extends Omit<IdentityOptions, "cacheOf" | "legacyTokenUsed" | "metrics"> {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Who decides what may be done, in the order in which they are asked; `own` are those that look at what is stored. */
  readonly authorizers: AuthorizersOf;
  /** The built-in kinds that are served; those that Kubernetes serves by default, unless it is told otherwise. */
  readonly kinds?: readonly AnyKind[];
  /** Whether new objects may wait for initializers, unseen; takes the admission plugin. */
  readonly initializes?: boolean;
  /** Whether the roles and bindings that every cluster has are made and kept up to date. */
  readonly bootstrapPolicy: boolean;
  /** What is asked before each write, or the chain that is, made with a view of the very server it is part of. */
  readonly admission: Admission | ((server: AdmissionServer) => Admission);
  /** Keeps stored objects from being changed; nothing does by default. */
  readonly protect?: Protection;
  /** The way to kubelets and pods. */
  readonly nodes: NodeConnection;
  /** The way to webhooks; without it none is reached. */
  readonly webhooks?: WebhookTransport;
  /** How the servers of aggregated APIs are reached; without it none is. */
  readonly aggregation?: AggregationSettings;
  /** Where services get their addresses and node ports from. */
  readonly network: ServiceNetwork;
  /** Other parts of the control plane whose health is shown; the store's is always. */
  readonly components: readonly HealthCheck[];
  /** What a server is asked for besides when it is asked how it is. */
  readonly healthChecks?: readonly HealthCheck[];
  /** How long events are kept; defaults to an hour. */
  readonly eventSeconds?: number;
  /** What a scheduler in the same process says of pods that wait for a node. */
  readonly schedulingOf?: SchedulingOf;
  /** How many requests are served at once; 400 that read and 200 that write by default. */
  readonly inFlight?: InFlightLimits;
  /** Whether requests wait for each other by priority and fairness, as they do by default, or are only counted. */
  readonly isFair?: boolean;
  /** How long a request may take that does not last; a minute by default. */
  readonly requestTimeoutMs?: number;
  /** How long a watch over HTTP lasts at least whose client does not say, in seconds; half an hour by default. */
  readonly minWatchSeconds?: number;
  /** What is recorded of requests, and where; nothing by default. */
  readonly audit?: AuditOptions;
  /** Reads large YAML; without it, that is refused. */
  readonly readYaml?: YamlReader;
  /** Aborts when the server is told to stop: from then on it is not ready. */
  readonly stopping?: AbortSignal;
  /** What `/version` says. */
  readonly version: { readonly gitVersion: string } & Readonly<Record<string, string>>;
  /** The flags of the command that runs the server, which `/flagz` shows; nothing does by default. */
  readonly flags?: Readonly<Record<string, string>>;
  /** What `/metrics` shows: what this server counts is added. Defaults to one of its own. */
  readonly metrics?: MetricRegistry;
}

export interface Assembly extends ApiServer, Component {
  /** Resolves when every cache has been filled. */
  ready(signal: AbortSignal): Promise<void>;
  /** What is served now. */
  readonly apis: ServedApis;
  /** APIs of other servers; to be run once this one is ready. */
  readonly aggregator: Aggregator;
  /** A source of kinds that come and go while the server runs; its name tells it from other sources. */
  runtimeKinds(name: string, strategies: StrategyOf): RuntimeKinds;
  /** The objects that every cluster has, as a server makes them that can be reached there. */
  system(advertised: AdvertisedAddress, besides?: readonly SystemObject[]): SystemObjects;
}
