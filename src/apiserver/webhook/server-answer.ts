// What an answer that is no success means, in the words of upstream's client (apimachinery/pkg/api/errors, NewGenericServerResponse).
import { ApiError, type StatusDetails } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { quote } from "#base/quote.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import type { WebhookAnswer } from "./transport.ts";

const standardAnswers: ReadonlyMap<number, readonly [reason: string, message: string]> = new Map([
  [400, ["BadRequest", "the server rejected our request for an unknown reason"]],
  [401, ["Unauthorized", "the server has asked for the client to provide credentials"]],
  [404, ["NotFound", "the server could not find the requested resource"]],
  [405, ["MethodNotAllowed", "the server does not allow this method on the requested resource"]],
  [409, ["AlreadyExists", "the server reported a conflict"]],
  [422, ["Invalid", "the server rejected our request due to an error in our request"]],
  [429, ["TooManyRequests", "the server has received too many requests and has asked us to try again later"]],
  [503, ["ServiceUnavailable", "the server is currently unable to handle the request"]],
  [
    504,
    [
      "Timeout",
      "the server was unable to return a response in the time allotted, but may still be processing the request",
    ],
  ],
]);
const own: ReadonlyMap<number, string> = new Map([
  [403, "Forbidden"],
  [406, "NotAcceptable"],
  [415, "UnsupportedMediaType"],
]);

/** As much of a text as is shown to whoever's request it was. */
const shownLength = 2048;

export function serverAnswerError(answer: WebhookAnswer): ApiError {
  const { code, contentType, text } = answer;
  const status = statusIn(text);
  if (status) return status;
  const isText = contentType.startsWith("text/") || /^application\/(json|yaml)/.test(contentType);
  const said = isText ? text.trim().slice(0, shownLength) : "unknown";
  const [reason, message] =
    standardAnswers.get(code) ??
    (own.has(code) ? [own.get(code) ?? "", said] : undefined) ??
    (code >= 500
      ? ["InternalError", `an error on the server (${quote(said)}) has prevented the request from succeeding`]
      : ["", `the server responded with the status code ${code} but did not return more information`]);
  const details: StatusDetails = { causes: [{ reason: "UnexpectedServerResponse", message: said }] };
  return new ApiError({ code, reason, message, details });
}

/** A server may say itself what is wrong, as a Status. */
function statusIn(text: string): ApiError | undefined {
  let value: unknown;
  try {
    ({ value } = parseJson(text));
  } catch (error) {
    if (error instanceof DecodeError) return undefined; // no JSON is no Status
    throw error;
  }
  if (!isObject(value) || value.kind !== "Status" || value.apiVersion !== "v1" || value.status !== "Failure")
    return undefined;
  const { code, reason, message } = value;
  return new ApiError({
    code: typeof code === "number" ? code : 500,
    reason: typeof reason === "string" ? reason : "",
    message: typeof message === "string" ? message.slice(0, shownLength) : "",
  });
}
