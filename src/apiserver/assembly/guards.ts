// Who is let in, what they may do, and what has a say in each write.
import type { MetricRegistry } from "#base/metrics.ts";
import { admissionServer } from "../admission/server.ts";
import { type Identity, identityBy } from "../authentication/identity.ts";
import { LegacyTokenUses } from "../authentication/legacy-token-uses.ts";
import { type Authorization, authorizationBy } from "../authorization/own-authorizers.ts";
import type { Admission } from "../registry/admission.ts";
import type { ServedApis } from "../served/served-apis.ts";
import { WebhookClient } from "../webhook/client.ts";
import { ServiceEndpoints } from "../webhook/service-endpoints.ts";
import { noWebhooks } from "../webhook/transport.ts";
import type { AssemblyOptions } from "./options.ts";
import type { OwnRequests } from "./own-requests.ts";
import type { ServerStorage } from "./storage.ts";

export interface ServerGuards {
  readonly identity: Identity;
  readonly authorization: Authorization;
  readonly admission: Admission;
  /** Where services lead. */
  readonly endpoints: ServiceEndpoints;
  readonly webhooks: WebhookClient;
}

export interface GuardsOptions {
  readonly options: AssemblyOptions;
  readonly metrics: MetricRegistry;
  readonly own: OwnRequests;
  readonly apis: ServedApis;
  readonly storage: ServerStorage;
}

export function assembleGuards({ options, metrics, own, apis, storage }: GuardsOptions): ServerGuards {
  const { clock, random, log } = options;
  const { cacheOf } = storage.caches;
  const uses = new LegacyTokenUses({ clock, log, request: own.request });
  const identity = identityBy({ ...options, metrics, cacheOf, legacyTokenUsed: (secret) => uses.note(secret) });
  const authorization = authorizationBy(options.authorizers, cacheOf);
  const endpoints = new ServiceEndpoints(cacheOf, random);
  const webhooks = new WebhookClient({ transport: options.webhooks ?? noWebhooks, endpoints, clock });
  const view = admissionServer({
    metrics,
    clock,
    random,
    log,
    request: own.request,
    versionsOf: (kind) => apis.versionsOf(kind),
    authorize: authorization.authorize,
    registries: storage.registries,
    webhooks,
  });
  const admission = typeof options.admission === "function" ? options.admission(view) : options.admission;
  return { identity, authorization, admission, endpoints, webhooks };
}
