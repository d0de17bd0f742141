// Limit ranges: names, and bounds that do not contradict each other.
// Upstream: pkg/apis/core/validation/validation.go.
import { qualifiedName } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, type Problem, required } from "#schema/index.ts";
import { parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { amountOf, compareAmounts, mayOvercommit } from "../amounts.ts";
import type { LimitRangeItem, LimitRangeSpec } from "../limit-range.ts";
import { each, isEmpty, malformed, under } from "./problems.ts";
import { containerResourceName, entries, resourceName } from "./resources.ts";

const standardTypes = ["Pod", "Container", "PersistentVolumeClaim"];

export function* checkLimits({ limits }: LimitRangeSpec): Iterable<Problem> {
  const types = new Set<string>();
  for (const [at, item] of each("limits", limits)) {
    yield* limitType(`${at}.type`, item.type);
    if (types.has(item.type)) yield duplicate(`${at}.type`);
    types.add(item.type);
    yield* under(at, checkItem(item));
  }
}

function* limitType(at: string, type: string): Iterable<Problem> {
  const bad = [...malformed(at, type, qualifiedName)];
  yield* bad;
  if (bad.length === 0 && !type.includes("/") && !standardTypes.includes(type))
    yield invalid(at, "must be a standard limit type or fully qualified");
}

const bounds = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

function* checkItem(item: LimitRangeItem): Iterable<Problem> {
  const ofPod = item.type === "Pod";
  const checkName = ofPod || item.type === "Container" ? containerResourceName : resourceName;
  const names = new Set<string>();
  for (const bound of bounds) {
    if (ofPod && (bound === "default" || bound === "defaultRequest")) {
      if (!isEmpty(item[bound])) yield forbidden(bound, "may not be specified when `type` is 'Pod'");
      continue;
    }
    for (const [at, name] of entries(bound, item[bound])) {
      yield* checkName(at, name);
      names.add(name);
    }
  }
  if (item.type === "PersistentVolumeClaim" && !item.min?.storage && !item.max?.storage)
    yield required("limits", "either minimum or maximum storage value is required, but neither was provided");
  for (const name of names) yield* checkBounds(item, name, ofPod);
}

function* checkBounds(item: LimitRangeItem, name: string, ofPod: boolean): Iterable<Problem> {
  const [min, max, ratio] = [item.min, item.max, item.maxLimitRequestRatio].map((amounts) => amountOf(amounts, name));
  const limit = ofPod ? undefined : amountOf(item.default, name);
  const request = ofPod ? undefined : amountOf(item.defaultRequest, name);
  const exceeds = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && compareAmounts(a, b) > 0;
  if (exceeds(min, max)) yield invalid(`min[${name}]`, `min value ${min} is greater than max value ${max}`, min);
  if (exceeds(min, request))
    yield invalid(
      `defaultRequest[${name}]`,
      `min value ${min} is greater than default request value ${request}`,
      request,
    );
  if (exceeds(request, max))
    yield invalid(
      `defaultRequest[${name}]`,
      `default request value ${request} is greater than max value ${max}`,
      request,
    );
  if (exceeds(request, limit))
    yield invalid(
      `defaultRequest[${name}]`,
      `default request value ${request} is greater than default limit value ${limit}`,
      request,
    );
  if (exceeds(min, limit))
    yield invalid(`default[${name}]`, `min value ${min} is greater than default value ${limit}`, min);
  if (exceeds(limit, max))
    yield invalid(`default[${name}]`, `default value ${limit} is greater than max value ${max}`, max);
  if (ratio !== undefined) yield* checkRatio(name, ratio, min, max);
  if (!mayOvercommit(name) && limit !== undefined && request !== undefined && compareAmounts(limit, request) !== 0)
    yield invalid(
      `defaultRequest[${name}]`,
      `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
      request,
    );
}

function* checkRatio(name: string, ratio: string, min: string | undefined, max: string | undefined): Iterable<Problem> {
  const at = `maxLimitRequestRatio[${name}]`;
  if (compareAmounts(ratio, "1") < 0) yield invalid(at, `ratio ${ratio} is less than 1`, ratio);
  if (min === undefined || max === undefined) return;
  const number = (amount: string) => quantityToNumber(parseQuantity(amount));
  const most = number(max) / number(min);
  if (number(ratio) > most) yield invalid(at, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`, ratio);
}
