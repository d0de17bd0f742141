// Nobody may give away what they do not have: whoever writes a role or a binding must hold all of its permissions, unless they
// may `escalate` the role or `bind` it.
import { equal } from "#base/collections.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Authorize, Question } from "#serving/authorization.ts";
import type { ApiRequest, User } from "#wire/api-request.ts";
import { forbidden, notFound, type ResourceName } from "#wire/status.ts";
import { joinErrors, type RbacPolicy, type RoleReference } from "./policy.ts";
import { describeRules, quotedList, type Rule, uncovered } from "./rules.ts";

export const rbacGroup = "rbac.authorization.k8s.io";
const everything: readonly Rule[] = [
  { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
  { nonResourceURLs: ["*"], verbs: ["*"] },
];

export interface EscalationOptions {
  readonly policy: RbacPolicy;
  readonly authorize: Authorize;
}

/** Throws ApiError 403 if the write would give anyone more than the writer has. To be called once all else about the object is known. */
export async function refuseEscalation(
  options: EscalationOptions,
  request: ApiRequest,
  object: DraftObject,
  old: ApiObject | undefined,
): Promise<void> {
  const { user } = request;
  if (request.group !== rbacGroup || user.groups.includes("system:masters")) return;
  const isRole = request.resource === "roles" || request.resource === "clusterroles";
  if (isRole) {
    if (await mayEscalate(options, request)) return;
    if (old && changesOwnersOnly(object, old)) return;
    refuseUnheld(options, request, object, (object.rules ?? []) as readonly Rule[]);
    if (aggregates(object) || (old && aggregates(old))) refuseAggregation(options, request, object);
    return;
  }
  if (old && changesOwnersOnly(object, old)) return;
  const roleRef: RoleReference = object.roleRef;
  if (roleRef.kind !== "Role" && roleRef.kind !== "ClusterRole") return; // validation says what is wrong with it
  if (await mayBind(options, request, roleRef)) return;
  const rules = options.policy.rulesOfRole(roleRef, request.namespace);
  // Upstream names the resource that is being written, and the name of the role that it refers to.
  if (!rules) throw notFound(request, roleRef.name);
  refuseUnheld(options, request, object, rules);
}

async function mayEscalate({ authorize }: EscalationOptions, request: ApiRequest): Promise<boolean> {
  const { user, group, resource, namespace, name } = request;
  const question: Question = {
    type: "resource",
    user,
    verb: "escalate",
    group,
    version: "*",
    resource,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  };
  return (await authorize(question)).decision === "allow";
}

/** Asked in the namespace of the binding, so that one may be allowed to bind a cluster role there and nowhere else. */
async function mayBind(
  { authorize }: EscalationOptions,
  request: ApiRequest,
  roleRef: RoleReference,
): Promise<boolean> {
  const { user, namespace } = request;
  const question: Question = {
    type: "resource",
    user,
    verb: "bind",
    group: rbacGroup,
    version: "*",
    resource: `${roleRef.kind.toLowerCase()}s`,
    name: roleRef.name,
    ...(namespace !== undefined && { namespace }),
  };
  return (await authorize(question)).decision === "allow";
}

function refuseUnheld(
  { policy }: EscalationOptions,
  request: ApiRequest,
  object: DraftObject,
  rules: readonly Rule[],
): void {
  const held = policy.rulesFor(request.user, request.namespace);
  const missing = uncovered(held.rules, rules);
  if (missing.length === 0) return;
  const errors = held.errors.length > 0 ? `; resolution errors: [${joinErrors(held.errors)}]` : "";
  throw forbidden(
    resourceOf(request),
    object.metadata.name ?? "",
    `${describeUser(request.user)} is attempting to grant RBAC permissions not currently held:\n${describeRules(missing)}${errors}`,
  );
}

/** Aggregation gathers what it wants, so it takes all permissions to ask for it. */
function refuseAggregation({ policy }: EscalationOptions, request: ApiRequest, object: DraftObject): void {
  if (uncovered(policy.rulesFor(request.user, request.namespace).rules, everything).length === 0) return;
  throw forbidden(
    resourceOf(request),
    object.metadata.name ?? "",
    "must have cluster-admin privileges to use the aggregationRule",
  );
}

const resourceOf = ({ group, resource }: ApiRequest): ResourceName => ({ group, resource });
const describeUser = ({ name, groups }: User): string => `user ${JSON.stringify(name)} (groups=${quotedList(groups)})`;
const aggregates = (role: ApiObject | DraftObject): boolean =>
  (role.aggregationRule?.clusterRoleSelectors ?? []).length > 0;

/** The garbage collector must be able to take any object away, whatever it may not do itself. */
function changesOwnersOnly(object: DraftObject, old: ApiObject): boolean {
  const { ownerReferences, finalizers, selfLink: _selfLink, managedFields, ...metadata } = old.metadata;
  const { ownerReferences: _o, finalizers: _f, selfLink: _s, managedFields: _m, ...rest } = object.metadata;
  return equal(
    { ...object, metadata: { ...rest, uid: rest.uid ?? metadata.uid, creationTimestamp: metadata.creationTimestamp } },
    { ...old, metadata },
  );
}
