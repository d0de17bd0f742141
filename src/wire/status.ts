// The refusals of the API, with upstream's codes, reasons and texts.
import { ApiError, type StatusCause, type StatusDetails } from "#base/errors.ts";
import { type Problem, problemCause } from "#schema/problem.ts";

/** The collection that a refusal is about: `deployments.apps`. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}
/** A kind as it stands in texts: `Deployment.apps`. */
export interface KindName {
  readonly group: string;
  readonly kind: string;
}

const qualified = (group: string, name: string): string => (group === "" ? name : `${name}.${group}`);
const resourceText = ({ group, resource }: ResourceName): string => qualified(group, resource);
const detailsOf = ({ group, resource }: ResourceName, name: string): StatusDetails => ({
  ...(name && { name }),
  ...(group && { group }),
  kind: resource,
});

export const notFound = (resource: ResourceName, name: string): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: `${resourceText(resource)} ${JSON.stringify(name)} not found`,
    details: detailsOf(resource, name),
  });

/** No such path. */
export const unknownPath = (): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });

export const alreadyExists = (resource: ResourceName, name: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "AlreadyExists",
    message: `${resourceText(resource)} ${JSON.stringify(name)} already exists`,
    details: detailsOf(resource, name),
  });

export const noFreeName = (resource: ResourceName, name: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "AlreadyExists",
    message: `${resourceText(resource)} ${JSON.stringify(name)} already exists, the server was not able to generate a unique name for the object`,
    details: { ...detailsOf(resource, name), retryAfterSeconds: 1 },
  });

export const conflict = (resource: ResourceName, name: string, why: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${resourceText(resource)} ${JSON.stringify(name)}: ${why}`,
    details: detailsOf(resource, name),
  });

export const modifiedMeanwhile = (resource: ResourceName, name: string): ApiError =>
  conflict(
    resource,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );

export function invalidObject({ group, kind }: KindName, name: string, problems: Iterable<Problem>): ApiError {
  const causes = tellable(problems);
  const texts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))];
  const all = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new ApiError({
    code: 422,
    reason: "Invalid",
    message: `${qualified(group, kind)} ${JSON.stringify(name)} is invalid: ${all}`,
    details: {
      ...(name && { name }),
      ...(group && { group }),
      ...(kind && { kind }),
      causes,
    },
  });
}

/** Longer messages are cut: each of many problems may contain a long value, such as the list that it is about. */
const mostTold = 1024 * 1024;

function tellable(problems: Iterable<Problem>): readonly StatusCause[] {
  const causes: StatusCause[] = [];
  let length = 0;
  for (const problem of problems) {
    const cause = problemCause(problem);
    causes.push(cause);
    length += (cause.message?.length ?? 0) + problem.field.length;
    if (length > mostTold) break;
  }
  return causes;
}

export const badRequest = (message: string): ApiError => new ApiError({ code: 400, reason: "BadRequest", message });

export const unauthorized = (): ApiError =>
  new ApiError({ code: 401, reason: "Unauthorized", message: "Unauthorized" });

export function forbidden(resource: ResourceName | undefined, name: string, why: string): ApiError {
  const subject =
    resource === undefined
      ? "forbidden"
      : `${resourceText(resource)}${name ? ` ${JSON.stringify(name)}` : ""} is forbidden`;
  return new ApiError({
    code: 403,
    reason: "Forbidden",
    message: `${subject}: ${why}`,
    details: resource ? detailsOf(resource, name) : {},
  });
}

export const methodNotAllowed = (): ApiError =>
  new ApiError({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });

export const notAcceptable = (accepted: readonly string[]): ApiError =>
  new ApiError({
    code: 406,
    reason: "NotAcceptable",
    message: `only the following media types are accepted: ${accepted.join(", ")}`,
  });

/** What the router of upstream refuses before anyone has looked at the header in full. */
export const nothingProduced = (available: readonly string[]): ApiError =>
  new ApiError({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(", ")}`,
    details: {},
  });

/** 406: the resource cannot be encoded in any format that the client accepts. */
export const noSuchForm = (message: string): ApiError => new ApiError({ code: 406, reason: "NotAcceptable", message });

/** 415: the body is in a format that the resource cannot be decoded from. */
export const nothingConsumed = (): ApiError =>
  new ApiError({ code: 415, reason: "UnsupportedMediaType", message: "415: Unsupported Media Type", details: {} });

export const unsupportedMediaType = (accepted: readonly string[]): ApiError =>
  new ApiError({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  });

export const expired = (message: string): ApiError => new ApiError({ code: 410, reason: "Expired", message });

/** The revision of a list that is read in pages is gone. The rest can be read as it is now, with another token. */
export const expiredPage = (token: string): ApiError =>
  new ApiError({
    code: 410,
    reason: "Expired",
    message:
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    continue: token,
  });

export const tooOld = (asked: number, oldest: number): ApiError =>
  expired(`too old resource version: ${asked} (${oldest})`);

export const notYetWritten = (asked: number, newest: number): ApiError =>
  new ApiError({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${newest}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });

export const tooLarge = (limit: number): ApiError =>
  new ApiError({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `Request entity too large: limit is ${limit}`,
  });

/** An object larger than the store takes. The words are etcd's, which upstream passes on as they are. */
export const tooLargeToStore = (): ApiError =>
  new ApiError({ code: 500, reason: "", message: "etcdserver: request is too large" });

export const tookTooLong = (): ApiError =>
  new ApiError({
    code: 504,
    reason: "Timeout",
    message: "Timeout: request did not complete within the allotted timeout",
    details: {},
  });

/** What was waited for did not happen in time. */
export const timedOut = (message: string): ApiError =>
  new ApiError({ code: 504, reason: "Timeout", message: `Timeout: ${message}` });

export const serviceUnavailable = (message: string): ApiError =>
  new ApiError({ code: 503, reason: "ServiceUnavailable", message });

/** 500 without a reason: upstream answers so where it passes on a plain Go error. */
export const unexpectedError = (message: string): ApiError => new ApiError({ code: 500, reason: "", message });

export const internalError = (message: string, causes: readonly StatusCause[] = [{ message }]): ApiError =>
  new ApiError({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes },
  });

/** The Status object a client gets for an error. */
export const statusOf = ({ code, reason, message, details, continue: next }: ApiError): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: { ...(next !== undefined && { continue: next }) },
  status: "Failure",
  message,
  ...(reason && { reason }),
  ...(details && { details }),
  code,
});

/** The Status object of a deletion that left nothing behind. */
export const successStatus = (details: StatusDetails): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details,
});

/** The Status object of what was done by creating something that is not kept, such as a binding. */
export const createdStatus = (): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  code: 201,
});
