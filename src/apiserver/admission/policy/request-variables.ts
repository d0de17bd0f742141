// The variables of expressions, for one request. Most expressions look at one or two of them, so each is made when it is asked for.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/activation.go.
import type { Namespace } from "#api/core/v1/namespace.ts";
import type { Activation } from "#schema/cel/frame.ts";
import {
  type Authority,
  type AuthorizationAnswer,
  type AuthorizationQuestion,
  authorizerValue,
  resourceCheckValue,
} from "#schema/cel/libraries/authorization.ts";
import { valueOfJson } from "#schema/cel/values/json.ts";
import { EntryMap } from "#schema/cel/values/map.ts";
import { parseTimestamp } from "#schema/cel/values/timestamp.ts";
import type { CelValue } from "#schema/cel/values/value.ts";
import { FieldSelectorError, parseFieldSelector } from "#schema/field-selector.ts";
import type { ApiObject } from "#schema/object.ts";
import type { AuthorizationVerdict, Question } from "#serving/authorization.ts";
import type { MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import { requestAttributes } from "../webhook/review.ts";

/** Thrown out of an evaluation whose question cannot be answered at once: it is evaluated again when the answer is there. */
export class AuthorizationPending extends Error {
  readonly answer: Promise<unknown>;

  constructor(answer: Promise<unknown>) {
    super("the answer of an authorizer has to be waited for");
    this.answer = answer;
  }
}

/** What the policies of one request ask of the authorizers, each question once. */
export class RequestAuthority {
  readonly #request: ReviewedRequest;
  #answers: Map<string, AuthorizationAnswer> | undefined;

  constructor(request: ReviewedRequest) {
    this.#request = request;
  }

  readonly ask: Authority = (asked) => {
    const key = JSON.stringify(asked);
    this.#answers ??= new Map();
    const answers = this.#answers;
    const known = answers.get(key);
    if (known) return known;
    const { authorize } = this.#request.asked.server;
    const note = (answer: AuthorizationAnswer): AuthorizationAnswer => {
      answers.set(key, answer);
      return answer;
    };
    const verdict = authorize(this.#questionOf(asked));
    if (!(verdict instanceof Promise)) return note(answerOf(verdict));
    throw new AuthorizationPending(
      verdict.then(
        (late) => note(answerOf(late)),
        (error: unknown) => note({ isAllowed: false, reason: "", error: String(error) }),
      ),
    );
  };

  #questionOf({ verb, path, serviceAccount, ...asked }: AuthorizationQuestion): Question {
    const { user: requester } = this.#request.asked;
    const user = serviceAccount ? accountUser(serviceAccount) : requester;
    if (path !== undefined) return { type: "path", user, verb, path };
    const { group = "", resource = "", subresource, namespace, name, fieldSelector } = asked;
    const narrowed = fieldSelector === undefined ? undefined : requirementsOf(fieldSelector);
    return {
      type: "resource",
      user,
      verb,
      group,
      version: "*",
      resource,
      ...(subresource && { subresource }),
      ...(namespace && { namespace }),
      ...(name && { name }),
      ...(narrowed && { fieldSelector: narrowed }),
    };
  }
}

const accountUser = ({ namespace, name }: { readonly namespace: string; readonly name: string }) => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
});

/** A selector that cannot be read narrows nothing, so more than was asked for must be allowed. */
function requirementsOf(text: string) {
  try {
    return parseFieldSelector(text);
  } catch (error) {
    if (error instanceof FieldSelectorError) return undefined;
    throw error;
  }
}

const answerOf = ({ decision, reason = "" }: AuthorizationVerdict): AuthorizationAnswer => ({
  isAllowed: decision === "allow",
  reason,
});

export interface VariableSources {
  readonly request: ReviewedRequest;
  readonly matched: MatchedVersion;
  readonly authority: RequestAuthority;
  readonly params: ApiObject | undefined;
  readonly namespace: Namespace | undefined;
  /** In the version that was matched. */
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
}

export class RequestVariables implements Activation {
  readonly #sources: VariableSources;
  /** Apart from the others: nearly every expression reads it. */
  #object: CelValue | undefined;
  #others: Map<string, CelValue> | undefined;

  constructor(sources: VariableSources) {
    this.#sources = sources;
  }

  get(name: string): CelValue | undefined {
    if (name === "object") {
      if (this.#object === undefined) this.#object = valueOfJson(this.#sources.object ?? null);
      return this.#object;
    }
    const known = this.#others?.get(name);
    if (known !== undefined) return known;
    const value = this.#make(name);
    if (value !== undefined) this.set(name, value);
    return value;
  }

  /** Puts a variable of a policy in. */
  set(name: string, value: CelValue): void {
    this.#others ??= new Map();
    this.#others.set(name, value);
  }

  #make(name: string): CelValue | undefined {
    const { request, matched, authority, params, namespace, old } = this.#sources;
    switch (name) {
      case "oldObject":
        return valueOfJson(old ?? null);
      case "request":
        return valueOfJson(requestAttributes(request, matched));
      case "params":
        return valueOfJson(params ?? null);
      case "namespaceObject":
        return namespace ? namespaceValue(namespace) : null;
      case "authorizer":
        return authorizerValue(authority.ask);
      case "authorizer.requestResource":
        return resourceCheckValue(authority.ask, this.#ownResource());
      default:
        return undefined;
    }
  }

  #ownResource() {
    const { name, namespace, made, asked } = this.#sources.request;
    const { group, resource } = made.resource;
    return { group, resource, subresource: asked.subresource, namespace, name };
  }
}

/** What policies see of a namespace. */
function namespaceValue({ metadata, spec, status }: Namespace): CelValue {
  const { uid, creationTimestamp, deletionTimestamp, managedFields: _, ownerReferences: __, ...rest } = metadata;
  const times = Object.entries({ creationTimestamp, deletionTimestamp }).flatMap(([field, text]) => {
    const time = text === undefined ? undefined : parseTimestamp(text);
    return time ? [[field, time] as const] : [];
  });
  return new EntryMap([
    [
      "metadata",
      new EntryMap([
        ...Object.entries(rest).map(([field, value]) => [field, valueOfJson(value)] as const),
        ...times,
        ...(uid ? [["UID", uid] as const] : []),
      ]),
    ],
    ["spec", valueOfJson(spec ?? {})],
    ["status", valueOfJson(status ?? {})],
  ]);
}
