// The rules of jobs that take more than one field to say.
// Upstream: pkg/apis/batch/validation/validation.go.
import { repeats } from "#base/collections.ts";
import { qualifiedName } from "#schema/formats.ts";
import { invalid, notSupported, type Problem, required, tooLong, tooMany } from "#schema/index.ts";
import { malformed } from "../../core/v1/checks/problems.ts";
import { domainPrefixedPath, invalidUnseen, quotedList } from "../../rules.ts";
import { countIndexes } from "./indexes.ts";
import type { JobSpec, PodFailurePolicyRule, SuccessPolicyRule } from "./job.ts";

const most = {
  indexed: 100_000,
  /** Above so many completions, an index that may fail alone costs more. */
  manyCompletions: 100_000,
  whenManyCompletions: 10_000,
  managedBy: 63,
  failureRules: 20,
  exitCodes: 255,
  conditionPatterns: 20,
  successRules: 20,
  succeededIndexes: 64 * 1024,
};

/** What holds for a job and for the template of a cron job alike. */
export function* checkJobSpec(spec: JobSpec): Iterable<Problem> {
  const { completionMode, managedBy, podFailurePolicy, successPolicy, podReplacementPolicy } = spec;
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    yield required("backoffLimitPerIndex", "when maxFailedIndexes is specified");
  if (managedBy !== undefined) {
    yield* domainPrefixedPath("managedBy", managedBy);
    if (managedBy.length > most.managedBy) yield tooLong("managedBy", most.managedBy);
  }
  if (completionMode === "Indexed") yield* checkIndexed(spec);
  if (completionMode === undefined || completionMode === "NonIndexed")
    for (const field of ["backoffLimitPerIndex", "maxFailedIndexes"] as const)
      if (spec[field] !== undefined) yield invalid(field, "requires indexed completion mode");
  if (podFailurePolicy) yield* checkFailurePolicy(spec, podFailurePolicy.rules);
  if (successPolicy) {
    if (completionMode !== "Indexed") yield invalid("successPolicy", "requires indexed completion mode");
    else yield* checkSuccessPolicy(spec, successPolicy.rules);
  }
  if (podReplacementPolicy !== undefined) {
    const allowed = podFailurePolicy ? ["Failed"] : ["Failed", "TerminatingOrFailed"];
    if (!allowed.includes(podReplacementPolicy)) yield notSupported("podReplacementPolicy", allowed);
  }
  yield* checkRestartPolicy(spec);
}

function* checkRestartPolicy({ template, podFailurePolicy }: JobSpec): Iterable<Problem> {
  const field = "template.spec.restartPolicy";
  const { restartPolicy } = template.spec;
  if (!restartPolicy || restartPolicy === "Always") yield required(field, 'valid values: "OnFailure", "Never"');
  else if (restartPolicy !== "OnFailure" && restartPolicy !== "Never")
    yield notSupported(field, ["OnFailure", "Never"]);
  else if (podFailurePolicy && restartPolicy !== "Never")
    yield invalid(field, 'only "Never" is supported when podFailurePolicy is specified');
}

function* checkIndexed(spec: JobSpec): Iterable<Problem> {
  const { completions, parallelism = 0, maxFailedIndexes } = spec;
  if (completions === undefined) yield required("completions", "when completion mode is Indexed");
  if (parallelism > most.indexed)
    yield invalid("parallelism", `must be less than or equal to ${most.indexed} when completion mode is Indexed`);
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions)
    yield invalid("maxFailedIndexes", "must be less than or equal to completions");
  if (maxFailedIndexes !== undefined && maxFailedIndexes > most.indexed)
    yield invalid("maxFailedIndexes", `must be less than or equal to ${most.indexed}`);
  if ((completions ?? 0) <= most.manyCompletions || spec.backoffLimitPerIndex === undefined) return;
  const words = `must be less than or equal to ${most.whenManyCompletions} when completions are above ${most.manyCompletions} and used with backoff limit per index`;
  if (maxFailedIndexes === undefined)
    yield required("maxFailedIndexes", `must be specified when completions is above ${most.manyCompletions}`);
  if (parallelism > most.whenManyCompletions) yield invalid("parallelism", words);
  if (maxFailedIndexes !== undefined && maxFailedIndexes > most.whenManyCompletions)
    yield invalid("maxFailedIndexes", words);
}

const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const statuses = ["False", "True", "Unknown"];

function* checkFailurePolicy(spec: JobSpec, rules: readonly PodFailurePolicyRule[]): Iterable<Problem> {
  const path = "podFailurePolicy.rules";
  if (rules.length > most.failureRules) yield tooMany(path, rules.length, most.failureRules);
  const { containers, initContainers = [] } = spec.template.spec;
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  for (const [i, rule] of rules.entries()) yield* checkFailureRule(`${path}[${i}]`, rule, names, spec);
}

function* checkFailureRule(
  path: string,
  { action, onExitCodes, onPodConditions = [] }: PodFailurePolicyRule,
  containers: ReadonlySet<string>,
  spec: JobSpec,
): Iterable<Problem> {
  if (!action) yield required(`${path}.action`, `valid values: ${quotedList(actions)}`);
  else if (action === "FailIndex") {
    if (spec.backoffLimitPerIndex === undefined)
      yield invalid(`${path}.action`, "requires the backoffLimitPerIndex to be set");
  } else if (!actions.includes(action)) yield notSupported(`${path}.action`, actions);
  if (onExitCodes) yield* checkExitCodes(`${path}.onExitCodes`, onExitCodes, containers);
  if (onPodConditions.length > most.conditionPatterns)
    yield tooMany(`${path}.onPodConditions`, onPodConditions.length, most.conditionPatterns);
  for (const [i, { type, status }] of onPodConditions.entries()) {
    yield* malformed(`${path}.onPodConditions[${i}].type`, type, qualifiedName);
    if (!statuses.includes(status)) yield notSupported(`${path}.onPodConditions[${i}].status`, statuses);
  }
  if (onExitCodes && onPodConditions.length > 0)
    yield invalidUnseen(path, "specifying both OnExitCodes and OnPodConditions is not supported");
  if (!onExitCodes && onPodConditions.length === 0)
    yield invalidUnseen(path, "specifying one of OnExitCodes and OnPodConditions is required");
}

function* checkExitCodes(
  path: string,
  { operator, containerName, values }: NonNullable<PodFailurePolicyRule["onExitCodes"]>,
  containers: ReadonlySet<string>,
): Iterable<Problem> {
  if (!operator) yield required(`${path}.operator`, `valid values: ${quotedList(operators)}`);
  else if (!operators.includes(operator)) yield notSupported(`${path}.operator`, operators);
  if (containerName !== undefined && !containers.has(containerName))
    yield invalid(`${path}.containerName`, "must be one of the container or initContainer names in the pod template");
  if (values.length === 0) yield invalid(`${path}.values`, "at least one value is required");
  else if (values.length > most.exitCodes) yield tooMany(`${path}.values`, values.length, most.exitCodes);
  const isRepeated = repeats<number>();
  for (const [i, code] of values.entries()) {
    if (operator === "In" && code === 0) yield invalid(`${path}.values[${i}]`, "must not be 0 for the In operator");
    if (isRepeated(code)) yield { ...invalid(`${path}.values[${i}]`, ""), type: "Duplicate" };
  }
  if (values.some((code, i) => i > 0 && (values[i - 1] as number) > code))
    yield invalid(`${path}.values`, "must be ordered");
}

function* checkSuccessPolicy(spec: JobSpec, rules: readonly SuccessPolicyRule[]): Iterable<Problem> {
  const path = "successPolicy.rules";
  if (rules.length === 0)
    yield required(path, "at least one rules must be specified when the successPolicy is specified");
  if (rules.length > most.successRules) yield tooMany(path, rules.length, most.successRules);
  // Without completions there is nothing to measure the rules by; that is reported already.
  if (spec.completions === undefined) return;
  for (const [i, rule] of rules.entries()) yield* checkSuccessRule(`${path}[${i}]`, rule, spec.completions);
}

function* checkSuccessRule(path: string, rule: SuccessPolicyRule, completions: number): Iterable<Problem> {
  const { succeededCount, succeededIndexes } = rule;
  if (succeededCount === undefined && succeededIndexes === undefined)
    yield required(path, "at least one of succeededCount or succeededIndexes must be specified");
  let indexes = 0;
  if (succeededIndexes !== undefined) {
    if (succeededIndexes.length > most.succeededIndexes)
      yield tooLong(`${path}.succeededIndexes`, most.succeededIndexes);
    try {
      indexes = countIndexes(succeededIndexes, completions);
    } catch (error) {
      yield invalid(`${path}.succeededIndexes`, `error parsing succeededIndexes: ${(error as Error).message}`);
    }
  }
  if (succeededCount === undefined) return;
  if (succeededCount > completions)
    yield invalid(
      `${path}.succeededCount`,
      `must be less than or equal to ${completions} (the number of specified completions)`,
    );
  if (succeededIndexes !== undefined && succeededCount > indexes)
    yield invalid(
      `${path}.succeededCount`,
      `must be less than or equal to ${indexes} (the number of indexes in the specified succeededIndexes field)`,
    );
}
