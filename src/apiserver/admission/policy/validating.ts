// Asks ValidatingAdmissionPolicies.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1/validating-admission-policy-binding.ts";
import { ApiError } from "#base/errors.ts";
import { eachInTurn, type Soon, soon } from "#base/soon.ts";
import type { ApiObject } from "#schema/object.ts";
import type { RequestMatcher } from "../matching/request-matcher.ts";
import { type AnyAdmissionRequest, type MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import { type AdmissionPlugin, admissionPlugin, refused } from "../plugin.ts";
import type { AdmissionServer } from "../server.ts";
import { isExempt } from "../webhook/exempt.ts";
import { perServer } from "../webhook/per-server.ts";
import { ConfigurationError, paramsOf } from "./params.ts";
import { type ActiveBinding, type ActivePolicy, PolicySource } from "./policies.ts";
import { PolicyRun } from "./policy-run.ts";
import { type CompiledPolicy, compilePolicy, judge, type PolicyFailure, type PolicyVerdict } from "./validation.ts";

type Policy = ActivePolicy<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, CompiledPolicy>;
type Binding = ActiveBinding<ValidatingAdmissionPolicyBinding>;

const most = { failures: 50, annotationLength: 10 * 1024 };
const failureKey = "validation.policy.admission.k8s.io/validation_failure";

export function validatingAdmissionPolicy(): AdmissionPlugin {
  const policiesOf = perServer((server: AdmissionServer) => {
    const source = new PolicySource<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, CompiledPolicy>(
      compilePolicy,
    );
    const policies = server.derived(ValidatingAdmissionPolicy, (all) => all);
    const bindings = server.derived(ValidatingAdmissionPolicyBinding, (all) => all);
    return () => source.active(policies(), bindings());
  });
  return admissionPlugin({
    name: "ValidatingAdmissionPolicy",
    on: { verbs: ["create", "update", "delete", "connect"], through: ["*"] },
    validate(asked) {
      const policies = policiesOf(asked.server)();
      if (policies.length === 0 || isExempt(asked.kind)) return undefined;
      return new Judgement(new ReviewedRequest(asked as AnyAdmissionRequest)).of(policies);
    },
  });
}

/** Values for the audit log, by key. */
type Annotations = Map<string, Set<string>>;

interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

/** What all policies together say of one request. */
class Judgement {
  readonly #request: ReviewedRequest;
  readonly #run: PolicyRun;
  readonly #denials: Denial[] = [];
  readonly #audited: object[] = [];

  constructor(request: ReviewedRequest) {
    this.#request = request;
    this.#run = new PolicyRun(request);
  }

  /**
   * At once, unless something has to be waited for. Each step is a loop that goes on where it had to wait, because promises, and functions
   * made for each request, would cost several times as much as the expressions.
   */
  of(policies: readonly Policy[], from = 0): Soon<undefined> {
    for (let i = from; i < policies.length; i++) {
      const judged = this.#policy(policies[i] as Policy);
      if (judged instanceof Promise) return judged.then(() => this.of(policies, i + 1));
    }
    return this.#conclude();
  }

  #conclude(): undefined {
    if (this.#audited.length > 0)
      this.#request.asked.annotate(failureKey, JSON.stringify(this.#audited.slice(0, most.failures)));
    const [first] = this.#denials;
    if (first) throw this.#refusal(first);
  }

  #policy(policy: Policy): Soon<void> {
    const matched = this.#match(policy, undefined, policy.matcher);
    if (matched instanceof Promise) return matched.then((late) => (late ? this.#bindings(policy, late) : undefined));
    return matched ? this.#bindings(policy, matched) : undefined;
  }

  #bindings(policy: Policy, matched: MatchedVersion, annotations: Annotations = new Map(), from = 0): Soon<void> {
    for (let i = from; i < policy.bindings.length; i++) {
      const judged = this.#binding(policy, policy.bindings[i] as Binding, matched, annotations);
      if (judged instanceof Promise) return judged.then(() => this.#bindings(policy, matched, annotations, i + 1));
    }
    for (const [key, values] of annotations)
      this.#request.asked.annotate(`${policy.name}/${key}`, [...values].join(", "));
  }

  #binding(policy: Policy, binding: Binding, matched: MatchedVersion, annotations: Annotations): Soon<void> {
    const { matcher } = binding;
    if (!matcher) return this.#withParams(policy, binding, matched, annotations);
    return soon(this.#match(policy, binding, matcher), (meant) =>
      meant ? this.#withParams(policy, binding, matched, annotations) : undefined,
    );
  }

  #withParams(policy: Policy, binding: Binding, matched: MatchedVersion, annotations: Annotations): Soon<void> {
    const { paramKind } = policy.object.spec;
    const { paramRef } = binding.object.spec;
    if (!paramKind || !paramRef) return this.#evaluate(policy, binding, matched, undefined, annotations);
    const finding = this.#configured(policy, binding, () => paramsOf(this.#request, paramKind, paramRef));
    return soon(finding, (params = []) =>
      eachInTurn(params, (param) => this.#evaluate(policy, binding, matched, param, annotations)),
    );
  }

  #evaluate(
    policy: Policy,
    binding: Binding,
    matched: MatchedVersion,
    param: ApiObject | undefined,
    annotations: Annotations,
  ): Soon<void> {
    const verdict = this.#run.evaluate(matched, param, (variables) => judge(policy.compiled, variables));
    if (verdict instanceof Promise) return verdict.then((late) => this.#note(policy, binding, late, annotations));
    this.#note(policy, binding, verdict, annotations);
  }

  #note(policy: Policy, binding: Binding, verdict: PolicyVerdict, annotations: Annotations): void {
    for (const failure of verdict.failures) this.#act(policy, binding, failure);
    for (const message of verdict.problems) this.#deny(policy, binding, message, "Invalid");
    for (const [key, value] of verdict.annotations) {
      const values = annotations.get(key) ?? new Set();
      annotations.set(key, values.add(value.slice(0, most.annotationLength)));
    }
  }

  #match(policy: Policy, binding: Binding | undefined, matcher: RequestMatcher): Soon<MatchedVersion | undefined> {
    return this.#configured(policy, binding, () => matcher.match(this.#request));
  }

  /** Undefined where something is wrong with the policy or the binding, which is then dealt with. */
  #configured<T>(policy: Policy, binding: Binding | undefined, find: () => Soon<T>): Soon<T | undefined> {
    try {
      const found = find();
      return found instanceof Promise
        ? found.catch((error: unknown) => this.#misconfigured(policy, binding, error))
        : found;
    } catch (error) {
      return this.#misconfigured(policy, binding, error);
    }
  }

  #misconfigured(policy: Policy, binding: Binding | undefined, error: unknown): undefined {
    if (!(error instanceof ConfigurationError || error instanceof ApiError)) throw error;
    const what = binding ? "binding" : "policy";
    if (policy.compiled.failurePolicy !== "Ignore")
      this.#deny(policy, binding, `failed to configure ${what}: ${error.message}`, "Invalid");
  }

  #act(policy: Policy, binding: Binding, { index, message, reason = "Invalid" }: PolicyFailure): void {
    const { policyName = "", validationActions = [] } = binding.object.spec;
    for (const action of validationActions)
      switch (action) {
        case "Deny":
          this.#deny(policy, binding, message, reason);
          break;
        case "Audit":
          this.#audited.push({
            message,
            policy: policyName,
            binding: binding.name,
            expressionIndex: index,
            validationActions,
          });
          break;
        case "Warn":
          this.#request.asked.warn(
            `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
          );
      }
  }

  #deny({ name: policy }: Policy, binding: Binding | undefined, message: string, reason: string): void {
    this.#denials.push({ policy, binding: binding?.name, message, reason });
  }

  #refusal({ policy, binding, message, reason }: Denial): ApiError {
    const by = binding === undefined ? "" : ` with binding '${binding}'`;
    const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
    const { message: whole, details } = refused(this.#request.asked, text);
    const code = codes.get(reason) ?? 422;
    return new ApiError({ code, reason, message: whole, details: { ...details, causes: [{ message: text }] } });
  }
}

const codes: ReadonlyMap<string, number> = new Map([
  ["Forbidden", 403],
  ["Unauthorized", 401],
  ["RequestEntityTooLarge", 413],
]);
