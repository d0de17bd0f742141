// `serviceaccounts/NAME/token`: makes a token of the account. Nothing is stored.
// Upstream: pkg/registry/core/serviceaccount/storage/token.go.
import { TokenRequest } from "#api/authentication/v1/token-request.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { own } from "#base/collections.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { validateObject } from "#schema/validate.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { badRequest, conflict, invalidObject, methodNotAllowed, notFound } from "#wire/status.ts";
import type { Bound, ServiceAccountTokens } from "../authentication/service-account-tokens.ts";
import { parseWriteOptions } from "../registry/options.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { getObject } from "../verbs/get.ts";
import { noteOwner } from "../virtual/review.ts";
import type { Find } from "./list.ts";

/** Tokens in pods are asked for with this many seconds where nobody chose a time; clients that never read them again exist. */
const unchosenSeconds = 3607;
const extendedSeconds = 365 * 24 * 60 * 60;

export const tokenRequest =
  (tokens: ServiceAccountTokens, find: Find): SubresourceHandler =>
  async (request, { registry }) => {
    if (request.verb !== "create") throw methodNotAllowed();
    if (!request.body) throw badRequest("the body of the request is missing");
    const { dryRun, fieldManager } = parseWriteOptions(request, "CreateOptions");
    const tokenRequest = applyDefaults(
      TokenRequest,
      request.body.decode(TokenRequest).object as DraftObject,
    ) as DraftObject;
    request.audit?.sentObject(tokenRequest);
    await noteOwner({
      kind: TokenRequest,
      object: tokenRequest,
      manager: fieldManager,
      clock: tokens.options.clock,
      subresource: "token",
    });
    const call = registry.admissionCall(request, "create", dryRun);
    await registry.mutate(call, tokenRequest); // sees what was sent: a node's audiences are judged before they are filled in
    const { options } = tokens;
    const account = (await getObject(registry, request)).object;
    const now = options.clock.now();
    fillIn(tokenRequest, request, account, options.audiences);
    tokenRequest.metadata.creationTimestamp = timeOf(now);
    tokenRequest.status = {};
    const problems = validateObject(TokenRequest, tokenRequest);
    if (problems.length > 0) throw invalidObject(TokenRequest, "", problems);
    await registry.validate(call, tokenRequest as ApiObject);

    const { spec } = tokenRequest;
    const bound = spec.boundObjectRef ? await boundObjects(spec.boundObjectRef, request, find) : {};
    const warnings: string[] = [];
    const most = options.maxExpirationSeconds;
    if (most !== undefined && spec.expirationSeconds > most) {
      warnings.push(`requested expiration of ${spec.expirationSeconds} seconds shortened to ${most} seconds`);
      spec.expirationSeconds = most;
    }
    const isForServer = spec.audiences.every((audience: string) => options.audiences.includes(audience));
    const extends_ = options.extendExpiration && bound.pod && spec.expirationSeconds === unchosenSeconds && isForServer;
    const token = await tokens.issue(account, bound, {
      audiences: spec.audiences,
      ...(extends_
        ? {
            seconds: Math.min(extendedSeconds, options.keys.maxSeconds ?? extendedSeconds),
            warnAfterSeconds: spec.expirationSeconds,
          }
        : { seconds: spec.expirationSeconds }),
    });
    const status = { token, expirationTimestamp: timeOf(now + spec.expirationSeconds * 1000) };
    return { type: "plain", code: 201, kind: TokenRequest, object: { ...tokenRequest, status }, warnings };
  };

/** What the request leaves out is the account's; what it says must not contradict. */
function fillIn(
  tokenRequest: DraftObject,
  request: ApiRequest,
  account: ApiObject,
  audiences: readonly string[],
): void {
  const { metadata } = tokenRequest;
  const { name = "", namespace = "", uid } = account.metadata;
  for (const [field, value] of [
    ["name", request.name],
    ["namespace", request.namespace],
  ] as const)
    if (metadata[field] && metadata[field] !== value)
      throw invalidObject(TokenRequest, name, [
        {
          type: "Invalid",
          field: `metadata.${field}`,
          value: metadata[field],
          detail: `must match the service account ${field} if specified`,
        },
      ]);
  if (metadata.uid && metadata.uid !== uid)
    throw conflict(
      { group: TokenRequest.group, resource: "TokenRequest" },
      name,
      `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`,
    );
  Object.assign(metadata, { name, namespace, uid });
  if ((tokenRequest.spec.audiences ?? []).length === 0) tokenRequest.spec.audiences = audiences;
}

const bindable: Readonly<Record<string, AnyKind>> = { Pod, Secret, Node };

interface ObjectReference {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly name?: string;
  readonly uid?: string;
}

async function boundObjects(
  { kind: kindName = "", apiVersion = "", name = "", uid }: ObjectReference,
  request: ApiRequest,
  find: Find,
): Promise<Bound> {
  const kind = apiVersion.includes("/") ? undefined : own(bindable, kindName);
  if (!kind) throw badRequest(`cannot bind token to object of type ${describeKind(apiVersion, kindName)}`);
  const current = async (of: AnyKind, named: string) => {
    const { registry } = find(of);
    const namespace = of.scope === "Namespaced" ? request.namespace : undefined;
    return (await registry.objects.current(registry.keyOf(namespace, named), request))?.object;
  };
  const object = await current(kind, name);
  if (!object) throw notFound({ group: "", resource: kind.plural }, name);
  if (kind === Pod && object.spec.serviceAccountName !== request.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(request.name)} to pod running with different serviceaccount name.`,
    );
  if (uid && uid !== object.metadata.uid)
    throw conflict(
      { group: "", resource: kindName },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (kind !== Pod) return kind === Secret ? { secret: object } : { node: object };
  const node: string | undefined = object.spec.nodeName;
  if (!node) return { pod: object };
  // A node that is not registered is mentioned all the same, without a uid.
  return { pod: object, node: (await current(Node, node)) ?? unregistered(node) };
}

const unregistered = (name: string): ApiObject => ({ apiVersion: "v1", kind: "Node", metadata: { name } });

function describeKind(apiVersion: string, kind: string): string {
  const [first = "", second] = apiVersion.split("/");
  return second === undefined ? `/${first}, Kind=${kind}` : `${first}/${second}, Kind=${kind}`;
}
