import { Namespace } from "#api/core/v1/namespace.ts";
import type { ApiObject } from "#schema/object.ts";
import type { MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import { AuthorizationPending, RequestAuthority, RequestVariables } from "./request-variables.ts";

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

  /** Expressions do not wait: where an authorizer takes its time, they are evaluated again once it has answered. */
  async evaluate<T>(
    matched: MatchedVersion,
    params: ApiObject | undefined,
    work: (variables: RequestVariables) => T,
  ): Promise<T> {
    const namespace = await this.#namespaceObject();
    const request = this.#request;
    const [shown, before] = [request.object(matched), request.old(matched)];
    const object = shown instanceof Promise ? await shown : shown;
    const old = before instanceof Promise ? await before : before;
    for (let waits = 0; ; waits++)
      try {
        const sources = { request, matched, authority: this.#authority, params, namespace, object, old };
        return work(new RequestVariables(sources));
      } catch (error) {
        if (!(error instanceof AuthorizationPending) || waits === mostWaits) throw error;
        await error.answer;
      }
  }

  /** A namespace is not in one, although requests about it are. */
  async #namespaceObject(): Promise<Namespace | undefined> {
    if (!this.#hasNamespace && this.#request.asked.kind !== Namespace)
      this.#namespace = await this.#request.namespaceObject();
    this.#hasNamespace = true;
    return this.#namespace;
  }
}
