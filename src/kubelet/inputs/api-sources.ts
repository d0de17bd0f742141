// The inputs of containers as a node gets them from the API, under its own identity.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Service } from "#api/core/v1/service.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Informer, InformerContext } from "#client/informer.ts";
import { Informers } from "#client/informers.ts";
import { AccountTokens } from "./account-tokens.ts";
import type { InputSources } from "./sources.ts";
import { InputWatches } from "./watched-objects.ts";

/** Runs as long as the kubelet does, and is handed to it. */
export interface ApiSources extends InputSources, Component {
  readonly objects: InputWatches;
  readonly tokens: AccountTokens;
}

export interface ApiSourcesOptions extends InformerContext {
  /** An informer of all services, if the process has one already. */
  readonly services?: Informer<typeof Service>;
}

export function apiSources(context: ApiSourcesOptions): ApiSources {
  const { client } = context;
  const objects = new InputWatches(context);
  const tokens = new AccountTokens(context);
  const informers = new Informers(context);
  const services = context.services ?? informers.of(Service);
  return {
    name: "inputs of pods",
    objects,
    tokens,
    configMap: (namespace, name) => objects.configMap(namespace, name),
    secret: (namespace, name) => objects.secret(namespace, name),
    async services(namespace) {
      await services.synced(client.signal);
      return services.cache.list(namespace);
    },
    knownServices: (namespace) => services.cache.list(namespace),
    token: (pod, audience, seconds) => tokens.of(pod, audience, seconds),
    claim: (namespace, name) => client.find(PersistentVolumeClaim, { namespace, name }),
    persistentVolume: (name) => client.find(PersistentVolume, { name }),
    run: (signal) => supervise([objects, informers], signal),
  };
}
