// Lets MutatingAdmissionPolicies change objects.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go.
import { MutatingAdmissionPolicy } from "#api/admissionregistration/v1/mutating-admission-policy.ts";
import { MutatingAdmissionPolicyBinding } from "#api/admissionregistration/v1/mutating-admission-policy-binding.ts";
import { equal } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import { copyJson } from "#schema/apply/value.ts";
import { DecodeError } from "#schema/json.ts";
import type { ApiObject } from "#schema/object.ts";
import { internalError } from "#wire/status.ts";
import { replaceObject } from "../matching/replace-object.ts";
import { type MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import { type AdmissionPlugin, admissionPlugin, refused } from "../plugin.ts";
import type { AdmissionServer } from "../server.ts";
import { isExempt } from "../webhook/exempt.ts";
import { perServer } from "../webhook/per-server.ts";
import { WebhookRounds } from "../webhook/webhook-rounds.ts";
import { matchConditions, OutOfBudget } from "./evaluation.ts";
import { type CompiledMutatingPolicy, compileMutatingPolicy, MutationError, mutated, patchValue } from "./mutation.ts";
import { ConfigurationError, paramsOf } from "./params.ts";
import { type ActiveBinding, type ActivePolicy, PolicySource } from "./policies.ts";
import { PolicyRun } from "./policy-run.ts";

type Policy = ActivePolicy<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, CompiledMutatingPolicy>;
type Binding = ActiveBinding<MutatingAdmissionPolicyBinding>;

const name = "MutatingAdmissionPolicy";

export function mutatingAdmissionPolicy(): AdmissionPlugin {
  const policiesOf = perServer((server: AdmissionServer) => {
    const source = new PolicySource<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, CompiledMutatingPolicy>(
      compileMutatingPolicy,
    );
    const policies = server.derived(MutatingAdmissionPolicy, (all) => all);
    const bindings = server.derived(MutatingAdmissionPolicyBinding, (all) => all);
    return () => source.active(policies(), bindings());
  });
  return admissionPlugin({
    name,
    on: { verbs: ["create", "update", "connect"], through: ["*"] },
    mutate(asked) {
      const policies = policiesOf(asked.server)();
      if (policies.length === 0 || isExempt(asked.kind)) return undefined;
      return new Mutations(new ReviewedRequest(asked)).of(policies);
    },
  });
}

interface PolicyInvocation {
  readonly policy: Policy;
  readonly binding: Binding;
  readonly matched: MatchedVersion;
  readonly params: ApiObject | undefined;
}

/** What all policies together make of one object. */
class Mutations {
  readonly #request: ReviewedRequest;
  readonly #run: PolicyRun;
  readonly #denials: string[] = [];

  constructor(request: ReviewedRequest) {
    this.#request = request;
    this.#run = new PolicyRun(request);
  }

  async of(policies: readonly Policy[]): Promise<undefined> {
    const invocations = await this.#invocations(policies);
    const { asked } = this.#request;
    const { reinvocation } = asked;
    if (invocations.length > 0) {
      const rounds = (reinvocation.memory.get(name) as WebhookRounds | undefined) ?? new WebhookRounds();
      reinvocation.memory.set(name, rounds);
      if (reinvocation.isSecondRound) rounds.beginAgain(asked.object);
      for (const invocation of invocations) await this.#invoke(invocation, rounds);
      rounds.end(asked.object);
    }
    if (this.#denials.length > 0) throw this.#refusal();
    return undefined;
  }

  /** All that match the object as it came, in order; what one of them changes does not bring in another. */
  async #invocations(policies: readonly Policy[]): Promise<readonly PolicyInvocation[]> {
    const found: PolicyInvocation[] = [];
    for (const policy of policies) {
      const matched = await this.#configured(policy, undefined, () => policy.matcher.match(this.#request));
      for (const binding of matched ? policy.bindings : []) {
        const { matcher } = binding;
        if (matcher && !(await this.#configured(policy, binding, () => matcher.match(this.#request)))) continue;
        const params = await this.#configured(policy, binding, () =>
          paramsOf(this.#request, policy.object.spec.paramKind, binding.object.spec.paramRef),
        );
        if (matched) found.push(...(params ?? []).map((one) => ({ policy, binding, matched, params: one })));
      }
    }
    return found;
  }

  async #invoke(invocation: PolicyInvocation, rounds: WebhookRounds): Promise<void> {
    const { policy, binding, matched, params } = invocation;
    const { asked } = this.#request;
    const { reinvocation } = asked;
    const result = await this.#run.evaluate(matched, params, (variables) =>
      matchConditions(policy.compiled.conditions, variables, policy.compiled.failurePolicy),
    );
    if ("error" in result) return this.#deny(policy, binding, result.error);
    const id = JSON.stringify([policy.name, binding.name, params?.metadata.namespace, params?.metadata.name]);
    if (!result.matches || (reinvocation.isSecondRound && !rounds.mayAskAgain(id))) return;
    const before = copyJson(asked.object);
    for (const index of policy.compiled.mutations.keys()) if (asked.object) await this.#mutate(invocation, index);
    if (!equal(before, asked.object)) {
      rounds.changed();
      reinvocation.isWanted = true;
    }
    if (policy.object.spec.reinvocationPolicy === "IfNeeded") rounds.asked(id);
  }

  async #mutate({ policy, binding, matched, params }: PolicyInvocation, index: number): Promise<void> {
    const mutation = policy.compiled.mutations[index];
    const object = await this.#request.object(matched);
    if (!mutation || !object) return;
    try {
      const value = await this.#run.evaluate(matched, params, (variables) =>
        patchValue(policy.compiled, index, variables),
      );
      await replaceObject(
        this.#request,
        matched,
        mutated(mutation.type, value, object, this.#request.objectKind(matched)),
      );
    } catch (error) {
      if (error instanceof DecodeError) throw internalError(error.message);
      if (!(error instanceof MutationError || error instanceof OutOfBudget)) throw error;
      this.#deny(policy, binding, error.message);
    }
  }

  /** Undefined where something is wrong with the policy or the binding, which is then dealt with. */
  async #configured<T>(
    policy: Policy,
    binding: Binding | undefined,
    find: () => T | Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await find();
    } catch (error) {
      if (!(error instanceof ConfigurationError || error instanceof ApiError)) throw error;
      this.#deny(policy, binding, error.message);
      return undefined;
    }
  }

  #deny({ name: policy, compiled }: Policy, binding: Binding | undefined, why: string): void {
    if (compiled.failurePolicy === "Ignore") return;
    const by = binding ? `policy '${policy}' with binding '${binding.name}'` : `policy ${JSON.stringify(policy)}`;
    this.#denials.push(`${by} denied request: ${why}`);
  }

  #refusal(): ApiError {
    const { details } = refused(this.#request.asked, "");
    const causes = this.#denials.map((message) => ({ message }));
    const [message = ""] = this.#denials;
    return new ApiError({ code: 403, reason: "Invalid", message, details: { ...details, causes } });
  }
}
