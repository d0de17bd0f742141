// A small world for tests of controllers: objects that are there, one reconcile, and what it wrote. No server, no time, no chance.
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { type Random, seededRandom } from "#base/random.ts";
import { controlledBy } from "#rules/owners.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiObject, metadataOf } from "#schema/object.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { Client, type Transport } from "./client.ts";
import { type Again, type Controller, cacheView, type Reconcile } from "./controller.ts";
import { keyOf, type ObjectKey } from "./object-key.ts";
import { MemoryApi } from "./testing/memory-api.ts";

export interface ClientWorld {
  readonly clock: ManualClock;
  readonly random: Random;
  /** Writes with it count as the controller's. */
  readonly client: Client;
  /** For clients of one's own. */
  readonly transport: Transport;
  /** Puts an object there, with defaults and identity. */
  have<K extends AnyKind>(kind: K, object: Draft<Infer<K>>, options?: { readonly ownedBy?: object }): Infer<K>;
  /** The object as it is now, or undefined if it is gone. */
  get<K extends AnyKind>(kind: K, place: ObjectKey): Infer<K> | undefined;
  list<K extends AnyKind>(kind: K): readonly Infer<K>[];
  /** Takes an object away, as someone else would. */
  lose(kind: AnyKind, place: ObjectKey): void;
  /** Lets the controller see the object as it is now, or that it is gone. */
  reconcile<K extends AnyKind>(one: Controller<K>, object: Infer<K>): Promise<Again | undefined>;
  /** What was written since last asked: `create Pod web-`, `update ReplicaSet web/status`. */
  writes(): readonly string[];
  /** What was reported since last asked: `Normal SuccessfulCreate Created pod: web-1`. */
  events(): readonly string[];
  /** Makes requests fail for which `when` gives an error. */
  fail(when: (request: ApiRequest) => Error | undefined): void;
}

export function world(options: { readonly now?: string | number } = {}): ClientWorld {
  const clock = new ManualClock(options.now ?? "2026-01-01T00:00:00Z");
  const random = seededRandom(1);
  const api = new MemoryApi(clock);
  const { signal } = new AbortController();
  let written: string[] = [];
  let reported: string[] = [];
  let failure: (request: ApiRequest) => Error | undefined = () => undefined;
  const transport: Transport = async (request) => {
    const error = failure(request);
    if (error) throw error;
    if (!["get", "list", "watch"].includes(request.verb)) written.push(line(request));
    return api.request(request);
  };
  const client = new Client({ user: { name: "world", groups: [] }, userAgent: "world/1", signal, transport });
  const cache = cacheView((kind) => api.cache(kind));

  return {
    clock,
    random,
    client,
    transport,
    have(kind, object, { ownedBy } = {}) {
      const draft = object as Draft<ApiObject>; // what every kind has
      const owners = ownedBy ? { ownerReferences: [controlledBy(ownedBy as AnyKind, ownedBy)] } : {};
      return api.put(kind, { ...draft, metadata: { ...owners, ...draft.metadata } }) as Infer<typeof kind>;
    },
    get: (kind, place) => api.cache(kind).get(inDefault(kind, place)),
    list: (kind) => api.cache(kind).list(),
    lose: (kind, place) => void api.cache(kind).delete(keyOf(inDefault(kind, place))),
    async reconcile(one, object) {
      const { namespace, name = "" } = metadataOf(object);
      const place = { namespace, name };
      const context: Reconcile = {
        client,
        cache,
        clock,
        random,
        signal,
        log: silentLog,
        event: (type, reason, message) => void reported.push(`${type} ${reason} ${message}`),
      };
      const present = cache.get(one.for, place);
      const again = await (present === undefined ? one.gone?.(place, context) : one.reconcile(present, context));
      return again || undefined;
    },
    writes() {
      const all = written;
      written = [];
      return all;
    },
    events() {
      const all = reported;
      reported = [];
      return all;
    },
    fail(when) {
      failure = when;
    },
  };
}

const inDefault = ({ scope }: AnyKind, { namespace, name }: ObjectKey): ObjectKey =>
  scope === "Namespaced" ? { namespace: namespace || "default", name } : { name };

/** The name that was asked for, since the one the server makes says nothing. */
function line({ verb, expects, namespace, name, subresource, body }: ApiRequest): string {
  const sent = name ?? nameIn(body?.value());
  const shown = namespace && namespace !== "default" ? `${namespace}/${sent}` : sent;
  return `${verb} ${expects?.kind} ${shown}${subresource === undefined ? "" : `/${subresource}`}`;
}

function nameIn(object: unknown): string {
  const { name, generateName } = metadataOf(object ?? {});
  return name || generateName || "";
}
