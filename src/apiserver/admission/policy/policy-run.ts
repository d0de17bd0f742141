import { Namespace } from "#api/core/v1/namespace.ts";
import { type Soon, soon } from "#base/soon.ts";
import type { ApiObject } from "#schema/object.ts";
import type { MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import { AuthorizationPending, RequestAuthority, RequestVariables, type VariableSources } from "./request-variables.ts";

/** How many different questions one evaluation may have to wait for. */
const mostWaits = 100;

/** One request before all policies: what they share is found out once. */
export class PolicyRun {
  readonly #request: ReviewedRequest;
  readonly #authority: RequestAuthority;
  #namespace: Namespace | undefined;
  #hasNamespace = false;

  constructor(request: ReviewedRequest) {
    this.#request = request;
    this.#authority = new RequestAuthority(request);
  }

  /**
   * Expressions do not wait: where an authorizer takes its time, they are evaluated again once it has answered. At once, if nothing has to
   * be waited for.
   */
  evaluate<T>(
    matched: MatchedVersion,
    params: ApiObject | undefined,
    work: (variables: RequestVariables) => T,
  ): Soon<T> {
    const namespace = this.#namespaceObject();
    const object = this.#request.object(matched);
    const old = this.#request.old(matched);
    const common = { request: this.#request, authority: this.#authority, matched, params };
    if (namespace instanceof Promise || object instanceof Promise || old instanceof Promise)
      return Promise.all([namespace, object, old]).then(([known, shown, before]) =>
        evaluated({ ...common, namespace: known, object: shown, old: before }, work),
      );
    return evaluated({ ...common, namespace, object, old }, work);
  }

  /** A namespace is not in one, although requests about it are. */
  #namespaceObject(): Soon<Namespace | undefined> {
    if (this.#hasNamespace || this.#request.asked.kind === Namespace) return this.#namespace;
    return soon(this.#request.namespaceObject(), (namespace) => {
      this.#namespace = namespace;
      this.#hasNamespace = true;
      return namespace;
    });
  }
}

function evaluated<T>(sources: VariableSources, work: (variables: RequestVariables) => T, waits = 0): Soon<T> {
  try {
    return work(new RequestVariables(sources));
  } catch (error) {
    if (!(error instanceof AuthorizationPending) || waits === mostWaits) throw error;
    return error.answer.then(() => evaluated(sources, work, waits + 1));
  }
}
