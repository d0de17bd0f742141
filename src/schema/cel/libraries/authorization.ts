// Asking whether someone may do something. Follows apiserver/pkg/cel/library/authz.go. Who answers is given with the authorizer.
import { fn, type Library, member } from "../declarations.ts";
import { boolType, stringType, structType } from "../types.ts";
import { fail } from "../values/failure.ts";
import type { OpaqueValue } from "../values/value.ts";

export const authorizerType = structType("kubernetes.authorization.Authorizer");
export const pathCheckType = structType("kubernetes.authorization.PathCheck");
export const groupCheckType = structType("kubernetes.authorization.GroupCheck");
export const resourceCheckType = structType("kubernetes.authorization.ResourceCheck");
export const decisionType = structType("kubernetes.authorization.Decision");

/** The subject of a check: a path, or a resource. */
export interface AuthorizationQuestion {
  readonly verb: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Instead of the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

export interface AuthorizationAnswer {
  readonly isAllowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Expressions do not wait, so the answer must be there at once. */
export type Authority = (question: AuthorizationQuestion) => AuthorizationAnswer;

/** An authorizer, or a check that is being put together. */
export class AuthorizationValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type;
  readonly #authority: Authority;
  readonly #question: Omit<AuthorizationQuestion, "verb">;

  constructor(type: OpaqueValue["type"], authority: Authority, question: Omit<AuthorizationQuestion, "verb">) {
    this.type = type;
    this.#authority = authority;
    this.#question = question;
  }

  equals(other: OpaqueValue): boolean {
    return this === other;
  }

  with(type: OpaqueValue["type"], more: Partial<AuthorizationQuestion>): AuthorizationValue {
    return new AuthorizationValue(type, this.#authority, { ...this.#question, ...more });
  }

  check(verb: string): DecisionValue {
    return new DecisionValue(this.#authority({ ...this.#question, verb }));
  }
}

export class DecisionValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type = decisionType;
  readonly answer: AuthorizationAnswer;

  constructor(answer: AuthorizationAnswer) {
    this.answer = answer;
  }

  equals(other: OpaqueValue): boolean {
    return this === other;
  }
}

/** The value of the variable `authorizer`. */
export function authorizerValue(authority: Authority): AuthorizationValue {
  return new AuthorizationValue(authorizerType, authority, {});
}

/** The value of `authorizer.requestResource`: a check of what the request itself is about. */
export function resourceCheckValue(
  authority: Authority,
  question: Omit<AuthorizationQuestion, "verb">,
): AuthorizationValue {
  return new AuthorizationValue(resourceCheckType, authority, question);
}

const resourceParts = ["subresource", "namespace", "name"] as const;
const selectors = ["fieldSelector", "labelSelector"] as const;
type Check = AuthorizationValue;

function path(check: Check, value: string): Check {
  return value === "" ? fail("path must not be empty") : check.with(pathCheckType, { path: value });
}

function serviceAccount(check: Check, namespace: string, name: string): Check {
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace) || namespace.length > 63)
    fail(`Invalid service account namespace: ${namespace}`);
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) || name.length > 253)
    fail(`Invalid service account name: ${name}`);
  return check.with(authorizerType, { serviceAccount: { namespace, name } });
}

export const authorization: Library = {
  types: [authorizerType, pathCheckType, groupCheckType, resourceCheckType, decisionType],
  functions: [
    fn("path", member("authorizer_path", [authorizerType, stringType], pathCheckType, path)),
    fn(
      "group",
      member("authorizer_group", [authorizerType, stringType], groupCheckType, (check: Check, group: string) =>
        check.with(groupCheckType, { group }),
      ),
    ),
    fn(
      "serviceAccount",
      member("authorizer_serviceaccount", [authorizerType, stringType, stringType], authorizerType, serviceAccount),
    ),
    fn(
      "resource",
      member("groupcheck_resource", [groupCheckType, stringType], resourceCheckType, (check: Check, resource: string) =>
        check.with(resourceCheckType, { resource }),
      ),
    ),
    ...[...resourceParts, ...selectors].map((name) =>
      fn(
        name,
        member(
          `${name.endsWith("Selector") ? "authorizer" : "resourcecheck"}_${name.toLowerCase()}`,
          [resourceCheckType, stringType],
          resourceCheckType,
          (check: Check, value: string) => check.with(resourceCheckType, { [name]: value }),
        ),
      ),
    ),
    fn(
      "check",
      member("pathcheck_check", [pathCheckType, stringType], decisionType, (check: Check, asked: string) =>
        check.check(asked),
      ),
      member("resourcecheck_check", [resourceCheckType, stringType], decisionType, (check: Check, asked: string) =>
        check.check(asked),
      ),
    ),
    fn(
      "allowed",
      member("decision_allowed", [decisionType], boolType, ({ answer }: DecisionValue) => answer.isAllowed),
    ),
    fn(
      "reason",
      member("decision_reason", [decisionType], stringType, ({ answer }: DecisionValue) => answer.reason),
    ),
    fn(
      "errored",
      member("decision_errored", [decisionType], boolType, ({ answer }: DecisionValue) => answer.error !== undefined),
    ),
    fn(
      "error",
      member("decision_error", [decisionType], stringType, ({ answer }: DecisionValue) => answer.error ?? ""),
    ),
  ],
};
