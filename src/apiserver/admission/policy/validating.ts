// Asks ValidatingAdmissionPolicies.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1/validating-admission-policy-binding.ts";
import { ApiError } from "#base/errors.ts";
import { eachInTurn, type Soon, soon } from "#base/soon.ts";
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

  /** At once, unless something has to be waited for: promises would cost as much as the expressions. */
  of(policies: readonly Policy[]): Soon<undefined> {
    const judged = eachInTurn(policies, (policy) => {
      const matching = this.#configured(policy, undefined, () => policy.matcher.match(this.#request));
      return soon(matching, (matched) => (matched ? this.#policy(policy, matched) : undefined));
    });
    return soon(judged, () => this.#conclude());
  }

  #conclude(): undefined {
    if (this.#audited.length > 0)
      this.#request.asked.annotate(failureKey, JSON.stringify(this.#audited.slice(0, most.failures)));
    const [first] = this.#denials;
    if (first) throw this.#refusal(first);
  }

  #policy(policy: Policy, matched: MatchedVersion): Soon<void> {
    const annotations = new Map<string, Set<string>>();
    const judged = eachInTurn(policy.bindings, (binding) => {
      const { matcher } = binding;
      if (!matcher) return this.#binding(policy, binding, matched, annotations);
      return soon(
        this.#configured(policy, binding, () => matcher.match(this.#request)),
        (meant) => (meant ? this.#binding(policy, binding, matched, annotations) : undefined),
      );
    });
    return soon(judged, () => {
      for (const [key, values] of annotations)
        this.#request.asked.annotate(`${policy.name}/${key}`, [...values].join(", "));
    });
  }

  #binding(policy: Policy, binding: Binding, matched: MatchedVersion, annotations: Annotations): Soon<void> {
    const { paramKind } = policy.object.spec;
    const finding = this.#configured(policy, binding, () =>
      paramsOf(this.#request, paramKind, binding.object.spec.paramRef),
    );
    return soon(finding, (params = []) =>
      eachInTurn(params, (param) =>
        soon(
          this.#run.evaluate(matched, param, (variables) => judge(policy.compiled, variables)),
          (verdict) => this.#note(policy, binding, verdict, annotations),
        ),
      ),
    );
  }

  #note(policy: Policy, binding: Binding, verdict: PolicyVerdict, annotations: Annotations): void {
    for (const failure of verdict.failures) this.#act(policy, binding, failure);
    for (const message of verdict.problems) this.#deny(policy, binding, message, "Invalid");
    for (const [key, value] of verdict.annotations) {
      const values = annotations.get(key) ?? new Set();
      annotations.set(key, values.add(value.slice(0, most.annotationLength)));
    }
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
