// Access reviews: whether a user may do something, by the server's own authorizers.
// Upstream: pkg/registry/authorization/selfsubjectaccessreview/rest.go, pkg/registry/authorization/subjectaccessreview/rest.go and
// pkg/registry/authorization/localsubjectaccessreview/rest.go.
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  NonResourceAttributes,
  ResourceAttributes,
} from "#api/authorization/v1/attributes.ts";
import { LocalSubjectAccessReview } from "#api/authorization/v1/local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "#api/authorization/v1/self-subject-access-review.ts";
import { SubjectAccessReview, type SubjectAccessReviewSpec } from "#api/authorization/v1/subject-access-review.ts";
import type { FieldRequirement } from "#schema/field-selector.ts";
import { formatSelector } from "#schema/selector.ts";
import type { AuthorizationVerdict, Question } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import { badRequest } from "#wire/status.ts";
import { readFieldSelector } from "../authorization/authorizer.ts";
import type { VirtualHandler } from "../served-resource.ts";
import type { VirtualParts } from "./list.ts";
import { decodeOwnedReview, refuseInvalid, reviewResponse } from "./review.ts";

type Parts = Pick<VirtualParts, "authorize" | "clock">;

/** `kubectl auth can-i` */
export const selfSubjectAccessReview =
  ({ authorize, clock }: Parts): VirtualHandler =>
  async (request) => {
    const { object, warnings } = await decodeOwnedReview(request, SelfSubjectAccessReview, clock);
    refuseInvalid(SelfSubjectAccessReview, object);
    const status = statusOf(await authorize(questionOf(request.user, object.spec)));
    return reviewResponse(SelfSubjectAccessReview, { ...object, status }, warnings);
  };

export const subjectAccessReview =
  ({ authorize, clock }: Parts): VirtualHandler =>
  async (request) => {
    const { object, warnings } = await decodeOwnedReview(request, SubjectAccessReview, clock);
    refuseInvalid(SubjectAccessReview, object);
    const status = statusOf(await authorize(questionOf(subjectOf(object.spec), object.spec)));
    return reviewResponse(SubjectAccessReview, { ...object, status }, warnings);
  };

export const localSubjectAccessReview =
  ({ authorize, clock }: Parts): VirtualHandler =>
  async (request) => {
    const { object, warnings } = await decodeOwnedReview(request, LocalSubjectAccessReview, clock);
    const namespace = request.namespace ?? "";
    if (namespace === "") throw badRequest(`namespace is required on this type: ${namespace}`);
    const located = { ...object, metadata: { ...object.metadata, namespace: object.metadata.namespace || namespace } };
    refuseInvalid(LocalSubjectAccessReview, located);
    if (located.metadata.namespace !== namespace)
      throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
    const status = statusOf(await authorize(questionOf(subjectOf(object.spec), object.spec)));
    return reviewResponse(LocalSubjectAccessReview, { ...located, status }, warnings);
  };

const subjectOf = ({ user = "", uid, groups = [], extra }: SubjectAccessReviewSpec): User => ({
  name: user,
  groups,
  ...(uid && { uid }),
  ...(extra && { extra }),
});

interface Access {
  readonly resourceAttributes?: ResourceAttributes | undefined;
  readonly nonResourceAttributes?: NonResourceAttributes | undefined;
}

function questionOf(user: User, { resourceAttributes: about, nonResourceAttributes: at }: Access): Question {
  if (!about) return { type: "path", user, verb: at?.verb ?? "", path: at?.path ?? "" };
  const { verb = "", group = "", version = "", resource = "", namespace, name, subresource } = about;
  const { fieldSelector, labelSelector } = about;
  return {
    type: "resource",
    user,
    verb,
    group,
    version,
    resource,
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(subresource && { subresource }),
    ...(fieldSelector && { fieldSelector: requirementsOf(fieldSelector) }),
    ...(labelSelector && { labelSelector: labelsText(labelSelector) }),
  };
}

/** What cannot be said as equal or not equal narrows nothing. */
function requirementsOf({ rawSelector, requirements = [] }: FieldSelectorAttributes): readonly FieldRequirement[] {
  if (rawSelector) return readFieldSelector(rawSelector) ?? [];
  return requirements.flatMap(({ key, operator, values = [] }) => {
    const [value] = values;
    if (value === undefined || values.length > 1 || (operator !== "In" && operator !== "NotIn")) return [];
    return [{ field: key, operator: operator === "In" ? ("=" as const) : ("!=" as const), value }];
  });
}

/** Requirements that have no meaning narrow nothing. */
function labelsText({ rawSelector, requirements = [] }: LabelSelectorAttributes): string {
  if (rawSelector) return rawSelector;
  return formatSelector({ matchExpressions: requirements });
}

const statusOf = ({ decision, reason }: AuthorizationVerdict): object => ({
  allowed: decision === "allow",
  ...(decision === "deny" && { denied: true }),
  ...(reason && { reason }),
});
