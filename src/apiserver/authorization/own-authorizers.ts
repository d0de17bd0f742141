// Those who decide by what is stored, and all who decide together.
import type { AnyKind } from "#schema/kind.ts";
import type { Authorize } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import type { WatchCache } from "../watch-cache.ts";
import { type Authorizer, anyOf, mastersFirst } from "./authorizer.ts";
import { nodeAuthorizer, nodeOf } from "./node/authorizer.ts";
import { type ListedRules, noRules, RbacPolicy } from "./rbac/policy.ts";

export interface OwnAuthorizers {
  readonly node: Authorizer;
  readonly rbac: Authorizer;
}

/** Who decides, in the order in which they are asked; a function where that may change. */
export type AuthorizersOf = (own: OwnAuthorizers) => readonly Authorizer[] | (() => readonly Authorizer[]);

export interface Authorization {
  readonly authorize: Authorize;
  readonly policy: RbacPolicy;
  /** What a user may do in a namespace, as far as those who decide can tell. */
  rulesFor(user: User, namespace: string): ListedRules;
}

/** `choose` says who decides, in the order in which they are asked. */
export function authorizationBy(choose: AuthorizersOf, cacheOf: (kind: AnyKind) => WatchCache): Authorization {
  const policy = new RbacPolicy(cacheOf);
  const own: OwnAuthorizers = { node: nodeAuthorizer(cacheOf), rbac: (question) => policy.authorize(question) };
  const chosen = choose(own);
  const deciders = typeof chosen === "function" ? chosen : () => chosen;
  return {
    authorize: typeof chosen === "function" ? changing(chosen) : anyOf([mastersFirst, ...chosen]),
    policy,
    rulesFor(user, namespace) {
      const present = deciders();
      const isNode = present.includes(own.node) && nodeOf(user) !== undefined;
      const { rules, errors } = present.includes(own.rbac) ? policy.rulesFor(user, namespace) : noRules;
      return {
        rules,
        errors: [...(isNode ? ["node authorizer does not support user rule resolution"] : []), ...errors],
        incomplete: isNode || !present.includes(own.rbac),
      };
    },
  };
}

function changing(deciders: () => readonly Authorizer[]): Authorize {
  let known: readonly Authorizer[] | undefined;
  let authorize: Authorize = anyOf([]);
  return (question) => {
    const present = deciders();
    if (present !== known) {
      known = present;
      authorize = anyOf([mastersFirst, ...present]);
    }
    return authorize(question);
  };
}
