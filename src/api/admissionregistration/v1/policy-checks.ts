// Rules of admission policies and of the bindings that put them to work.
// Upstream: pkg/apis/admissionregistration/validation/validation.go.
import { equal, repeats } from "#base/collections.ts";
import { dns1035Label, dns1123Subdomain, pathSegment, qualifiedName } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import { checkExpression, isCelIdentifier } from "../../cel.ts";
import { checkConditions } from "./checks.ts";
import type { MatchCondition, MatchResources } from "./match.ts";
import type { ParamKind, ParamRef, Variable } from "./params.ts";

interface PolicySpec {
  readonly paramKind?: ParamKind | undefined;
  readonly matchConstraints?: MatchResources | undefined;
  readonly matchConditions?: readonly MatchCondition[] | undefined;
  readonly variables?: readonly Variable[] | undefined;
}

/** What policies that validate and policies that mutate have in common. */
export function* checkPolicy(spec: PolicySpec, old: PolicySpec | undefined): Iterable<Problem> {
  if (spec.paramKind) yield* checkParamKind(spec.paramKind);
  if (spec.matchConstraints && (spec.matchConstraints.resourceRules ?? []).length === 0)
    yield required("matchConstraints.resourceRules");
  const same = old && equal(spec.paramKind, old.paramKind) && equal(spec.matchConditions, old.matchConditions);
  if (!same) yield* checkConditions(spec.matchConditions, spec.paramKind !== undefined);
  for (const [i, { name, expression }] of (spec.variables ?? []).entries()) {
    if (name.trim() === "") yield required(`variables[${i}].name`, "name is not specified");
    else if (!isCelIdentifier(name)) yield invalid(`variables[${i}].name`, "must be a valid CEL identifier");
    yield* checkExpression(`variables[${i}].expression`, expression, "expression is not specified");
  }
}

function* checkParamKind({ apiVersion = "", kind = "" }: ParamKind): Iterable<Problem> {
  const parts = apiVersion.split("/");
  const [group, version = ""] = parts.length === 1 ? ["", parts[0]] : parts;
  const field = "paramKind.apiVersion";
  if (apiVersion === "") yield required(field);
  else if (parts.length > 2) yield invalid(field, `unexpected GroupVersion string: ${apiVersion}`);
  else {
    if (group && dns1123Subdomain(group).length > 0) yield invalid(field, dns1123Subdomain(group).join(","), group);
    if (version === "") yield invalid(field, "version must be specified");
    else if (dns1035Label(version).length > 0) yield invalid(field, dns1035Label(version).join(","), version);
  }
  const details = dns1035Label(kind.toLowerCase());
  if (kind === "") yield required("paramKind.kind");
  else if (details.length > 0)
    yield invalid("paramKind.kind", `may have mixed case, but should otherwise match: ${details.join(",")}`);
}

const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

/** A deletion has nothing to mutate. */
export function* checkMutatingOperations(path: string, match: MatchResources | undefined): Iterable<Problem> {
  for (const { operations = [] } of match?.resourceRules ?? [])
    for (const operation of operations)
      if (!mutatingOperations.includes(operation))
        yield notSupported(`${path}.resourceRules.operations`, mutatingOperations, operation);
}

export function* checkParamRef({ name, selector, parameterNotFoundAction: action }: ParamRef): Iterable<Problem> {
  if (name) {
    for (const detail of pathSegment(name)) yield invalid("name", detail);
    if (selector) {
      yield forbidden("name", "name and selector are mutually exclusive");
      yield forbidden("selector", "name and selector are mutually exclusive");
    }
  }
  if (!name && !selector) yield required("", "one of name or selector must be specified");
  if (!action) yield required("parameterNotFoundAction");
  else if (action !== "Deny" && action !== "Allow") yield notSupported("parameterNotFoundAction", ["Deny", "Allow"]);
}

export function* checkActions(actions: readonly string[]): Iterable<Problem> {
  const isRepeated = repeats<string>();
  for (const [i, action] of actions.entries()) if (isRepeated(action)) yield duplicate(`validationActions[${i}]`);
  if (actions.includes("Deny") && actions.includes("Warn"))
    yield invalid(
      "validationActions",
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
    );
}

interface Validation {
  readonly expression: string;
  readonly message?: string | undefined;
  readonly messageExpression?: string | undefined;
}

export function* checkValidation({ expression, message = "", messageExpression = "" }: Validation): Iterable<Problem> {
  yield* checkExpression("expression", expression, "expression is not specified");
  if (messageExpression !== "" && messageExpression.trim() === "")
    yield invalid("messageExpression", "must be non-empty if specified");
  if (message !== "" && message.trim() === "") yield invalid("message", "must be non-empty if specified");
  else if (/[\n\r]/.test(message.trim())) yield invalid("message", "must not contain line breaks");
}

interface AuditAnnotation {
  readonly key: string;
  readonly valueExpression: string;
}
const mostAnnotations = 20;
const mostExpressionBytes = 5 * 1024;

export function* checkAnnotations(
  policy: string | undefined,
  annotations: readonly AuditAnnotation[] = [],
): Iterable<Problem> {
  const path = "spec.auditAnnotations";
  if (annotations.length > mostAnnotations)
    yield invalid(path, `must not have more than ${mostAnnotations} auditAnnotations`);
  const isRepeated = repeats<string>();
  for (const [i, { key, valueExpression }] of annotations.entries()) {
    const field = `${path}[${i}]`;
    if (!policy) yield invalid(`${field}.key`, "requires metadata.name be non-empty");
    else
      for (const detail of qualifiedName(`${policy}/${key}`)) yield invalid(`${field}.key`, detail, `${policy}/${key}`);
    yield* checkExpression(`${field}.valueExpression`, valueExpression, "valueExpression is not specified");
    if (valueExpression.trim().length > mostExpressionBytes)
      yield required(`${field}.valueExpression`, `must not exceed ${mostExpressionBytes} bytes in length`);
    if (isRepeated(key)) yield duplicate(`${field}.key`);
  }
}
