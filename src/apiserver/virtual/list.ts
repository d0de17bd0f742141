// Resources that are not stored, such as access reviews: a client creates one, and the response is the object with its status.
import { SelfSubjectReview } from "#api/authentication/v1/self-subject-review.ts";
import { TokenReview } from "#api/authentication/v1/token-review.ts";
import { LocalSubjectAccessReview } from "#api/authorization/v1/local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "#api/authorization/v1/self-subject-access-review.ts";
import { SelfSubjectRulesReview } from "#api/authorization/v1/self-subject-rules-review.ts";
import { SubjectAccessReview } from "#api/authorization/v1/subject-access-review.ts";
import { Binding } from "#api/core/v1/binding.ts";
import { ComponentStatus } from "#api/core/v1/component-status.ts";
import type { Clock } from "#base/clock.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { TokenOwner } from "#serving/authentication.ts";
import type { Authorize } from "#serving/authorization.ts";
import type { HealthCheck } from "#serving/health.ts";
import type { User } from "#wire/api-request.ts";
import type { ListedRules } from "../authorization/rbac/policy.ts";
import type { ServedResource, VirtualResource } from "../served-resource.ts";
import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from "./access-review.ts";
import { bindings } from "./bindings.ts";
import { getComponent, listComponents } from "./component-status.ts";
import { selfSubjectRulesReview } from "./rules-review.ts";
import { selfSubjectReview } from "./self-subject-review.ts";
import { tokenReview } from "./token-review.ts";

export interface VirtualParts {
  /** Whose token it is, for those audiences; for the server itself if none are named. Throws TokenError. */
  readonly authenticateToken: (token: string, audiences: readonly string[]) => Promise<TokenOwner>;
  readonly authorize: Authorize;
  /** What roles allow a user in a namespace. */
  readonly rulesFor: (user: User, namespace: string) => ListedRules;
  readonly clock: Clock;
  /** Parts of the control plane, by the names under which they are shown. */
  readonly components: readonly HealthCheck[];
  readonly find: (kind: AnyKind) => ServedResource;
}

export const virtualResources = (parts: VirtualParts): readonly VirtualResource[] => [
  { kind: SelfSubjectReview, verbs: { create: selfSubjectReview(parts) } },
  { kind: TokenReview, verbs: { create: tokenReview(parts) } },
  { kind: SelfSubjectAccessReview, verbs: { create: selfSubjectAccessReview(parts) } },
  { kind: SubjectAccessReview, verbs: { create: subjectAccessReview(parts) } },
  { kind: LocalSubjectAccessReview, verbs: { create: localSubjectAccessReview(parts) } },
  { kind: SelfSubjectRulesReview, verbs: { create: selfSubjectRulesReview(parts) } },
  { kind: Binding, verbs: { create: bindings(parts) } },
  { kind: ComponentStatus, verbs: { get: getComponent(parts), list: listComponents(parts) } },
];
