// What the query of a request asks for, checked as upstream checks it.
import { DeleteOptions } from "#api/meta/options.ts";
import type { DecodeResult } from "#schema/decode.ts";
import { exactFieldValue, FieldSelectorError, fieldMatcher, parseFieldSelector } from "#schema/field-selector.ts";
import { DecodeError } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { forbidden, invalid, notSupported, type Problem, tooLong } from "#schema/problem.ts";
import { labelMatcher, parseSelector, SelectorError } from "#schema/selector.ts";
import type { ApiRequest, RequestBody } from "#wire/api-request.ts";
import { badRequest, invalidObject } from "#wire/status.ts";
import { includesUninitialized } from "./initialization.ts";

export interface ListQuery {
  /** Whether an object is wanted; undefined when all are. */
  readonly wants: ((object: ApiObject) => boolean) | undefined;
  /** Whether it still is once it has been converted, where others convert: labels and fields are those of the version that was asked for. */
  readonly wantsConverted: ((object: ApiObject) => boolean) | undefined;
  /** What `wants` decides, as a text. */
  readonly question: string;
  /** The only name wanted, where the field selector says so. */
  readonly name: string | undefined;
  /** The only `spec.nodeName` wanted, where the field selector says so. */
  readonly node: string | undefined;
  readonly limit: number | undefined;
  readonly continue: string | undefined;
  readonly resourceVersion: string;
  readonly match: "" | "Exact" | "NotOlderThan";
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
}

type Hides = (object: ApiObject) => boolean;

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly force: boolean;
}

const metaKind = (kind: string) => ({ group: "meta.k8s.io", kind });

/** `hides` says which objects only those see who ask for such. */
export function parseListOptions(kind: AnyKind, request: ApiRequest, hides?: Hides): ListQuery {
  const { query, verb, name } = request;
  const hidden = hides && includesUninitialized(request) ? undefined : hides;
  const text = (key: string) => query.get(key) ?? "";
  const limit = count(query, "limit") || undefined;
  const options = {
    ...selection(kind, text("labelSelector"), text("fieldSelector"), name, hidden),
    // Whatever the cache has is given whole, since it has no pages.
    limit: text("resourceVersion") === "0" && !text("continue") ? undefined : limit,
    continue: text("continue") || undefined,
    resourceVersion: text("resourceVersion"),
    match: text("resourceVersionMatch") as ListQuery["match"],
    bookmarks: flag(query, "allowWatchBookmarks") ?? false,
    sendInitialEvents: flag(query, "sendInitialEvents"),
    timeoutSeconds: count(query, "timeoutSeconds"),
  };
  const problems = [...(verb === "watch" ? watchProblems(options) : listProblems(options))];
  if (problems.length > 0) throw invalidObject(metaKind("ListOptions"), "", problems);
  return options;
}

/** Turns both selectors into one predicate. A name in the path is a field selector, too: `watch` of one object. */
function selection(
  kind: AnyKind,
  labels: string,
  fields: string,
  pathName: string | undefined,
  hides: Hides | undefined,
) {
  try {
    const labelRequirements = parseSelector(labels);
    const fieldRequirements = parseFieldSelector(fields);
    const matchesLabels = labelRequirements.length > 0 ? labelMatcher(labelRequirements) : undefined;
    const matchesFields = fieldRequirements.length > 0 ? fieldMatcher(kind, fieldRequirements) : undefined;
    const name = pathName ?? exactFieldValue(fieldRequirements, "metadata.name");
    const tests: Test[] = [];
    const isRemote = kind.peers?.isRemote ?? false;
    const converted: Test[] = isRemote ? [] : tests;
    if (matchesLabels) converted.push((object) => matchesLabels(object.metadata.labels));
    // Fields are named as in the version that was asked for.
    const shown = (object: ApiObject) => (isRemote ? object : (kind.convert?.fromStored(object) ?? object));
    if (matchesFields) converted.push((object) => matchesFields(shown(object) as never));
    if (pathName !== undefined) tests.push((object) => object.metadata.name === pathName);
    if (hides) tests.push((object) => !hides(object));
    const wants = allOf(tests);
    const wantsConverted = isRemote ? allOf(converted) : undefined;
    const node = exactFieldValue(fieldRequirements, "spec.nodeName") || undefined;
    const question = wants ? JSON.stringify([kind.apiVersion, labels, fields, pathName, hides !== undefined]) : "";
    return { wants, wantsConverted, question, name, node };
  } catch (error) {
    if (error instanceof SelectorError || error instanceof FieldSelectorError) throw badRequest(error.message);
    throw error;
  }
}

type Test = (object: ApiObject) => boolean;

function allOf(tests: readonly Test[]): Test | undefined {
  const [first] = tests;
  return tests.length < 2 ? first : (object) => tests.every((test) => test(object));
}

function* listProblems({ match, resourceVersion, continue: token, sendInitialEvents }: ListQuery): Iterable<Problem> {
  const field = "resourceVersionMatch";
  if (match !== "") {
    if (resourceVersion === "") yield forbidden(field, `${field} is forbidden unless resourceVersion is provided`);
    if (token) yield forbidden(field, `${field} is forbidden when continue is provided`);
    if (match !== "Exact" && match !== "NotOlderThan") yield notSupported(field, ["Exact", "NotOlderThan", ""], match);
    if (match === "Exact" && resourceVersion === "0")
      yield forbidden(field, `${field} "exact" is forbidden for resourceVersion "0"`);
  }
  if (sendInitialEvents !== undefined) yield forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
}

function* watchProblems(options: ListQuery): Iterable<Problem> {
  const { match, resourceVersion, continue: token, sendInitialEvents } = options;
  const field = "resourceVersionMatch";
  const isFromNow = match === "" && sendInitialEvents === undefined && ["", "0"].includes(resourceVersion);
  // Such a watch is one that sends what there is first, which upstream writes out before it checks.
  if (isFromNow && token) yield forbidden(field, `${field} is forbidden when continue is provided`);
  if (sendInitialEvents !== undefined && match !== "NotOlderThan")
    yield forbidden(field, `sendInitialEvents requires setting ${field} to NotOlderThan`);
  if (match === "") return;
  if (sendInitialEvents === undefined)
    yield forbidden(field, `${field} is forbidden for watch unless sendInitialEvents is provided`);
  if (match !== "NotOlderThan") yield notSupported(field, ["NotOlderThan"], match);
  if (token) yield forbidden(field, `${field} is forbidden when continue is provided`);
}

/** Options of create, update and patch. */
export function parseWriteOptions(
  request: ApiRequest,
  kindName: "CreateOptions" | "UpdateOptions" | "PatchOptions",
): WriteOptions {
  const { query, userAgent, body } = request;
  const applies = body?.patchType === "apply";
  const usualManager = userAgent.split("/", 1)[0]?.slice(0, 128) || "unknown";
  if (query.size === 0 && !applies)
    return { dryRun: false, fieldManager: usualManager, fieldValidation: "Warn", force: false };
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  const problems: Problem[] = dryRunProblems(dryRun);
  const fieldValidation = query.get("fieldValidation") || "Warn";
  if (!["Strict", "Warn", "Ignore"].includes(fieldValidation))
    problems.push(notSupported("fieldValidation", ["", "Ignore", "Strict", "Warn"], fieldValidation));
  const given = query.get("fieldManager") ?? "";
  if (given.length > 128) problems.push(tooLong("fieldManager", 128));
  const unprintable = [...given].findIndex((character) => !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character));
  if (unprintable >= 0)
    problems.push(
      invalid("fieldManager", `invalid character ${given[unprintable]} (at position ${unprintable})`, given),
    );
  if (applies && given === "")
    problems.push({ type: "Required", field: "fieldManager", detail: "is required for apply patch" });
  const force = flag(query, "force");
  if (force !== undefined && kindName === "PatchOptions" && !applies)
    problems.push(forbidden("force", "may not be specified for non-apply patch"));
  if (problems.length > 0) throw invalidObject(metaKind(kindName), "", problems);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: given || usualManager,
    fieldValidation: fieldValidation as WriteOptions["fieldValidation"],
    force: force ?? false,
  };
}

export interface DeletionOptions {
  readonly dryRun: boolean;
  readonly graceSeconds: number | undefined;
  readonly propagation: "Orphan" | "Background" | "Foreground" | undefined;
  /** The deletion follows from something else that has been admitted, such as an eviction. */
  readonly admitted?: boolean;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

const dryRunProblems = (values: readonly string[]): Problem[] =>
  values.every((value) => value === "All") ? [] : [notSupported("dryRun", ["All"], values)];

/** Options of a deletion: the body if there is one, else the query. */
export function parseDeleteOptions({ query, body, audit }: ApiRequest): DeletionOptions {
  if (!body) return deletionOptions(undefined, query);
  const options = decodeOptions(body);
  audit?.sentObject(options);
  const { kind = "DeleteOptions", apiVersion = "v1", ...sent } = options;
  if (kind !== "DeleteOptions")
    throw badRequest(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"`,
    );
  return deletionOptions(sent, new URLSearchParams());
}

function decodeOptions(body: RequestBody): DecodeResult["object"] {
  try {
    return body.decode(DeleteOptions).object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const isJson = error.syntax === "json";
    throw badRequest(isJson ? `couldn't get version/kind; json parse error: ${error.message}` : error.message);
  }
}

export function deletionOptions(sent: DeleteOptions | undefined, query: URLSearchParams): DeletionOptions {
  const dryRun: readonly string[] = sent?.dryRun ?? query.getAll("dryRun").filter((value) => value !== "");
  const orphan: boolean | undefined = sent?.orphanDependents ?? flag(query, "orphanDependents");
  const propagation: string | undefined = sent?.propagationPolicy ?? (query.get("propagationPolicy") || undefined);
  const problems: Problem[] = dryRunProblems(dryRun);
  if (orphan !== undefined && propagation !== undefined)
    problems.push(
      invalid("propagationPolicy", "orphanDependents and deletionPropagation cannot be both set", propagation),
    );
  const known = ["Foreground", "Background", "Orphan"];
  if (propagation !== undefined && !known.includes(propagation))
    problems.push(notSupported("propagationPolicy", [...known, "nil"], propagation));
  if (problems.length > 0) throw invalidObject(metaKind("DeleteOptions"), "", problems);
  const grace: number | undefined = sent?.gracePeriodSeconds ?? count(query, "gracePeriodSeconds");
  return {
    dryRun: dryRun.length > 0,
    graceSeconds: grace !== undefined && grace < 0 ? 1 : grace,
    propagation:
      orphan === undefined ? (propagation as DeletionOptions["propagation"]) : orphan ? "Orphan" : "Background",
    uid: sent?.preconditions?.uid,
    resourceVersion: sent?.preconditions?.resourceVersion,
  };
}

/** Go's reading of a boolean in a query: present and empty is true. */
function flag(query: URLSearchParams, key: string): boolean | undefined {
  const value = query.get(key);
  if (value === null) return undefined;
  return value !== "false" && value !== "0";
}

function count(query: URLSearchParams, key: string): number | undefined {
  const value = query.get(key);
  if (value === null || value === "") return undefined;
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return number;
}
