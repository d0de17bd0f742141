// A world for tests of single plugins: objects in a map in place of the caches, and one call in place of a request.
import { ManualClock } from "#base/clock.ts";
import { deepFreeze } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import { seededRandom } from "#base/random.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { AuthorizationVerdict } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import { notFound } from "#wire/status.ts";
import { WebhookClient } from "../webhook/client.ts";
import { noWebhooks } from "../webhook/transport.ts";
import { admissionChain } from "./chain.ts";
import type { AdmissionOperation, AdmissionPlugin } from "./plugin.ts";
import type { AdmissionServer } from "./server.ts";

export interface Admitted {
  /** What a client would be told; empty if it was admitted. */
  readonly refusal: string;
  readonly error: ApiError | undefined;
  readonly warnings: readonly string[];
  /** What came of the object. */
  readonly object: ApiObject;
}

export interface TestRequest {
  readonly operation?: AdmissionOperation;
  readonly old?: unknown;
  readonly subresource?: string;
  readonly user?: Partial<User>;
  readonly dryRun?: boolean;
  readonly namespace?: string;
  readonly name?: string;
}

export class AdmissionWorld {
  readonly clock = new ManualClock("2026-01-01T00:00:00Z");
  readonly #objects = new Map<AnyKind, Map<string, ApiObject>>();
  #revision = 0;
  /** Who may do what; everyone everything by default. */
  authorize: AdmissionServer["authorize"] = async (): Promise<AuthorizationVerdict> => ({ decision: "allow" });

  /** What the server answers itself; nothing by default. */
  request: AdmissionServer["request"] = async ({ group, resource, name }) => {
    throw notFound({ group, resource }, name ?? "");
  };

  readonly server: AdmissionServer = {
    clock: this.clock,
    random: seededRandom(7),
    kinds: [],
    versionsOf: (kind) => [kind],
    derived: (kind, make) => () => make(this.server.list(kind)),
    webhooks: new WebhookClient({
      transport: noWebhooks,
      clock: this.clock,
      endpoints: {
        resolve: (_namespace, name) => {
          throw notFound({ group: "", resource: "service" }, name);
        },
      },
    }),
    authorize: (question) => this.authorize(question),
    request: (request) => this.request(request),
    get: (kind, name, namespace) => this.#of(kind).get(`${namespace ?? ""}/${name}`) as never,
    list: (kind, namespace) =>
      [...this.#of(kind).values()].filter(
        ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
      ) as never,
    settled: async () => undefined,
    create: async (kind, object) => {
      this.have(kind, object);
    },
    replace: async (kind, based, object) => {
      const { metadata } = based as unknown as ApiObject;
      const present = this.#of(kind).get(keyOf(metadata));
      if (present?.metadata.resourceVersion !== metadata.resourceVersion) return undefined;
      return this.have(kind, object as never) as never;
    },
  };

  /** Stores an object, with defaults; in namespace `default` where it has one. */
  have<K extends AnyKind>(kind: K, object: Draft<Infer<K>>): Infer<K> {
    const made = this.made(kind, object);
    made.metadata.resourceVersion = String(++this.#revision);
    made.metadata.uid ??= `uid-${this.#revision}`;
    made.metadata.creationTimestamp ??= "2026-01-01T00:00:00Z";
    const frozen: unknown = deepFreeze(made);
    this.#of(kind).set(keyOf(made.metadata), made as ApiObject);
    return frozen as Infer<K>;
  }

  made(kind: AnyKind, object: unknown): DraftObject {
    const draft = structuredClone(object) as DraftObject;
    draft.apiVersion = kind.apiVersion;
    draft.kind = kind.kind;
    draft.metadata ??= {};
    if (kind.scope === "Namespaced") draft.metadata.namespace ??= "default";
    return applyDefaults(kind, draft) as DraftObject;
  }

  /** Asks plugins, in order, as a request would. */
  async admit(
    plugins: AdmissionPlugin | readonly AdmissionPlugin[],
    kind: AnyKind,
    object: unknown,
    request: TestRequest = {},
  ): Promise<Admitted> {
    const chain = admissionChain("parts" in plugins ? [plugins] : plugins, this.server);
    const { old, subresource, dryRun = false, namespace } = request;
    const operation = request.operation ?? (old ? "update" : "create");
    const draft =
      object === undefined
        ? undefined
        : subresource === "binding"
          ? (structuredClone(object) as DraftObject)
          : this.made(kind, object);
    const warnings: string[] = [];
    const stored = old === undefined ? undefined : deepFreeze(this.made(kind, old));
    const name = request.name ?? (operation === "create" ? undefined : (draft ?? stored)?.metadata.name);
    const place = namespace ?? (draft ?? stored)?.metadata.namespace;
    const call = {
      request: {
        group: kind.group,
        version: kind.version,
        resource: kind.plural,
        verb: operation,
        user: { name: "alice", groups: ["system:authenticated"], ...request.user },
        query: new URLSearchParams(),
        userAgent: "test",
        signal: new AbortController().signal,
        warn: (text: string) => warnings.push(text),
        ...(place && kind.scope === "Namespaced" && { namespace: place }),
        ...(name && { name }),
        ...(subresource && { subresource }),
      },
      kind,
      operation,
      old: stored as ApiObject | undefined,
      dryRun,
    };
    let error: ApiError | undefined;
    try {
      await chain.mutate(call, draft);
      if (draft && subresource !== "binding") applyDefaults(kind, draft);
      await chain.validate(call, draft && (deepFreeze(draft) as ApiObject));
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      error = cause;
    }
    return { refusal: error?.message ?? "", error, warnings, object: draft as ApiObject };
  }

  #of(kind: AnyKind): Map<string, ApiObject> {
    const present = this.#objects.get(kind) ?? new Map<string, ApiObject>();
    this.#objects.set(kind, present);
    return present;
  }
}

const keyOf = ({ namespace, name }: ApiObject["metadata"]): string => `${namespace ?? ""}/${name}`;

/** A pod with one container, and whatever else is said. */
export const podWith = (spec: object = {}, metadata: object = {}) => ({
  metadata: { name: "p", ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});
