// The refusals of the API, with upstream's codes, reasons and texts.
import { ApiError, type StatusCause, type StatusDetails } from "#base/errors.ts";
import { type Problem, problemCause, problemText } from "#schema/problem.ts";

/** Which collection is spoken of: `deployments.apps`. */
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

export function invalidObject({ group, kind }: KindName, name: string, problems: readonly Problem[]): ApiError {
  const texts = [...new Set(problems.map(problemText))];
  const all = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new ApiError({
    code: 422,
    reason: "Invalid",
    message: `${qualified(group, kind)} ${JSON.stringify(name)} is invalid: ${all}`,
    details: { ...(name && { name }), ...(group && { group }), kind, causes: problems.map(problemCause) },
  });
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

export const unsupportedMediaType = (accepted: readonly string[]): ApiError =>
  new ApiError({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  });

export const expired = (message: string): ApiError => new ApiError({ code: 410, reason: "Expired", message });

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

export const tookTooLong = (): ApiError =>
  new ApiError({
    code: 504,
    reason: "Timeout",
    message: "Timeout: request did not complete within the allotted timeout",
    details: {},
  });

export const serviceUnavailable = (message: string): ApiError =>
  new ApiError({ code: 503, reason: "ServiceUnavailable", message });

export const internalError = (message: string, causes: readonly StatusCause[] = [{ message }]): ApiError =>
  new ApiError({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes },
  });

/** The Status object a client gets for an error. */
export const statusOf = ({ code, reason, message, details }: ApiError): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
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
