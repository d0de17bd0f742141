// Policies with the bindings that put them to work, read and compiled once for all requests.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go.
import type { MatchResources } from "#api/admissionregistration/v1/match.ts";
import type { ParamKind, ParamRef } from "#api/admissionregistration/v1/params.ts";
import type { ObjectMeta } from "#schema/index.ts";
import { RequestMatcher } from "../matching/request-matcher.ts";

interface PolicyObject {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly paramKind?: ParamKind | undefined;
    readonly matchConstraints?: MatchResources | undefined;
  };
}

interface BindingObject {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly policyName?: string | undefined;
    readonly paramRef?: ParamRef | undefined;
    readonly matchResources?: MatchResources | undefined;
  };
}

export interface ActiveBinding<B> {
  readonly name: string;
  readonly object: B;
  /** Absent if the binding narrows nothing. */
  readonly matcher: RequestMatcher | undefined;
}

/** A policy that at least one binding names. */
export interface ActivePolicy<P, B, C> {
  readonly name: string;
  readonly object: P;
  readonly matcher: RequestMatcher;
  readonly bindings: readonly ActiveBinding<B>[];
  /** Its expressions. */
  readonly compiled: C;
}

export const matcherOf = (match: MatchResources): RequestMatcher => {
  const { resourceRules = [], excludeResourceRules: excludeRules, ...rest } = match;
  return new RequestMatcher({ ...rest, excludeRules, rules: resourceRules.length > 0 ? resourceRules : undefined });
};

interface CompiledGeneration<C> {
  readonly generation: number;
  readonly compiled: C;
}

/** Keeps what was compiled as long as a policy stays the same, whatever else changes. */
export class PolicySource<P extends PolicyObject, B extends BindingObject, C> {
  readonly #compile: (policy: P) => C;
  #known: ReadonlyMap<string, CompiledGeneration<C>> = new Map();
  #from: readonly unknown[] = [];
  #active: readonly ActivePolicy<P, B, C>[] = [];

  constructor(compile: (policy: P) => C) {
    this.#compile = compile;
  }

  /** The lists are those of the cache: the same array until something changes. */
  active(policies: readonly P[], bindings: readonly B[]): readonly ActivePolicy<P, B, C>[] {
    if (this.#from[0] === policies && this.#from[1] === bindings) return this.#active;
    const byPolicy = Map.groupBy(bindings, ({ spec }) => spec.policyName ?? "");
    const kept = new Map<string, CompiledGeneration<C>>();
    this.#active = policies.flatMap((policy) => {
      const named = byPolicy.get(policy.metadata.name ?? "");
      return named ? [this.#activate(policy, named, kept)] : [];
    });
    this.#known = kept;
    this.#from = [policies, bindings];
    return this.#active;
  }

  #activate(policy: P, bindings: readonly B[], kept: Map<string, CompiledGeneration<C>>): ActivePolicy<P, B, C> {
    const { name = "", uid = "", generation = 0 } = policy.metadata;
    const known = this.#known.get(uid);
    const entry = known?.generation === generation ? known : { generation, compiled: this.#compile(policy) };
    kept.set(uid, entry);
    return {
      name,
      object: policy,
      matcher: matcherOf(policy.spec.matchConstraints ?? ({} as MatchResources)),
      compiled: entry.compiled,
      bindings: bindings.map((object) => ({
        name: object.metadata.name ?? "",
        object,
        matcher: object.spec.matchResources && matcherOf(object.spec.matchResources),
      })),
    };
  }
}
