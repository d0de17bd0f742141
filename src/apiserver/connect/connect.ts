// Subresources that are connections: the request is proxied to a kubelet, a pod or a service.
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest, AuditNotes, User } from "#wire/api-request.ts";
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { badRequest, methodNotAllowed, notFound } from "#wire/status.ts";
import type { NodeConnection } from "../node-connection.ts";
import type { Admission } from "../registry/admission.ts";
import type { ResourcePath } from "../request-path.ts";
import type { ServedResource } from "../served-resource.ts";
import { logs } from "./logs.ts";
import { nodeProxy, podProxy, serviceProxy } from "./proxy.ts";
import { attach, exec, portForward } from "./streams.ts";

export interface ConnectionOptions {
  readonly connection: NodeConnection;
  readonly clock: Clock;
  readonly random: Random;
  readonly admission: Admission;
}

/** What a connector works with. */
export interface ConnectCall extends ConnectionOptions {
  readonly http: HttpRequest;
  readonly user: User;
  readonly namespace: string;
  readonly name: string;
  /** The path after the subresource, still escaped. */
  readonly rest: string;
  /** The newest state of an object. Throws ApiError 404. */
  read(resource: "pods" | "nodes" | "services" | "endpoints", name: string): Promise<ApiObject>;
}

export interface Connector {
  readonly methods: readonly string[];
  /** Whether it needs the verb create for any method: a WebSocket begins with a GET, and gives as much access as a POST. */
  needsCreate?(address: ResourcePath): boolean;
  /** What admission is shown; without it there is nothing to admit. */
  readonly options?: { readonly kind: string; of(call: ConnectCall): Readonly<Record<string, unknown>> };
  connect(call: ConnectCall): Promise<HttpResponse>;
}

const connectors: Readonly<Record<string, Connector>> = {
  "pods/log": logs,
  "pods/exec": exec,
  "pods/attach": attach,
  "pods/portforward": portForward,
  "pods/proxy": podProxy,
  "services/proxy": serviceProxy,
  "nodes/proxy": nodeProxy,
};

/** The connector of a subresource, if it is one. */
export const connectorOf = (address: ResourcePath): Connector | undefined => {
  const { group, version, resource, name, subresource, rest = "/" } = address;
  if (group !== "" || version !== "v1" || name === undefined || subresource === undefined) return undefined;
  return rest === "/" || subresource === "proxy" ? connectors[`${resource}/${subresource}`] : undefined;
};

export interface ConnectRequest {
  readonly http: HttpRequest;
  readonly user: User;
  readonly address: ResourcePath;
  readonly audit: AuditNotes | undefined;
}

/** Connects, once it is known that the user may. */
export async function connect(
  connector: Connector,
  { http, user, address, audit }: ConnectRequest,
  find: (resource: string) => ServedResource | undefined,
  options: ConnectionOptions,
): Promise<HttpResponse> {
  if (!connector.methods.includes(http.method)) throw methodNotAllowed();
  if (http.query.get("dryRun")) throw badRequest("dryRun is not supported");
  const { namespace = "", name = "", rest = "" } = address;
  const served = (resource: string): ServedResource => {
    const one = find(resource);
    if (!one) throw new Error(`${resource} are not served`);
    return one;
  };
  const call: ConnectCall = {
    ...options,
    http,
    user,
    namespace,
    name,
    rest,
    async read(resource, named) {
      const { registry, kind } = served(resource);
      const key = registry.keyOf(kind.scope === "Namespaced" ? namespace : undefined, named);
      const stored = await registry.objects.current(key, http);
      // The error names the requested resource, whatever is missing behind it, as upstream does.
      if (!stored) throw notFound({ group: "", resource: address.resource }, named);
      return stored.object;
    },
  };
  if (connector.options) await admit(connector.options, call, { address, audit }, served(address.resource).kind);
  return connector.connect(call);
}

async function admit(
  { kind, of }: NonNullable<Connector["options"]>,
  call: ConnectCall,
  { address, audit }: Pick<ConnectRequest, "address" | "audit">,
  owner: AnyKind,
): Promise<void> {
  const { admission, http, user } = call;
  const { query, signal, headers } = http;
  const request: ApiRequest = {
    ...address,
    verb: "connect",
    user,
    query,
    signal,
    audit,
    userAgent: headers["user-agent"] ?? "",
  };
  const about = { request, kind: owner, operation: "connect", old: undefined, dryRun: false } as const;
  const object: DraftObject = { apiVersion: "v1", kind, metadata: {}, ...of(call) };
  await admission.mutate(about, object);
  await admission.validate(about, object as ApiObject);
}
