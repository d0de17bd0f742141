// What went wrong, as kubectl says it (upstream: kubectl/pkg/cmd/util/helpers.go).
import { ApiError, type StatusCause } from "#base/errors.ts";

/** What the person or the server got wrong: printed as `error: …`, exit code 1. */
export class KubectlError extends Error {
  override readonly name: string = "KubectlError";
}

/** Ends with this code after its message, which may be empty, was printed as it is. */
export class ExitError extends Error {
  override readonly name = "ExitError";
  readonly exitCode: number;

  constructor(exitCode: number, message = "", options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** No connection came about, or it broke. The message says why in Go's words. */
export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
  /** `host:port`. */
  readonly host: string;

  constructor(host: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.host = host;
  }
}

/** Several things went wrong, and each is told. */
export class AggregateKubectlError extends Error {
  override readonly name = "AggregateKubectlError";
  readonly errors: readonly Error[];

  constructor(errors: readonly Error[]) {
    const texts = [...new Set(errors.map(({ message }) => message))];
    super(texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`);
    this.errors = errors;
  }
}

/** Undefined if there are none; a single one is thrown as it is. */
export function throwAll(errors: readonly Error[]): void {
  const [first] = errors;
  if (first === undefined) return;
  throw errors.length === 1 ? first : new AggregateKubectlError(errors);
}

/** Mistakes in how a command is used: the message ends by saying where help is. */
export const usageError = (message: string, commandPath: string): KubectlError =>
  new KubectlError(`${message}\nSee '${commandPath} -h' for help and examples`);

/** What is printed, and the code to end with. */
export interface ErrorReport {
  readonly text: string;
  readonly exitCode: number;
}

export function reportOf(error: unknown): ErrorReport {
  const text = reportText(error);
  return {
    text: text === "" || text.endsWith("\n") ? text : `${text}\n`,
    exitCode: error instanceof ExitError ? error.exitCode : 1,
  };
}

function reportText(error: unknown): string {
  if (error instanceof ExitError) return error.message;
  if (error instanceof AggregateKubectlError)
    return error.errors.length === 1
      ? reportText(error.errors[0])
      : error.errors.map((one) => `${messageOf(one)}\n`).join("");
  if (error instanceof ApiError && error.code === 422 && error.reason === "Invalid") return invalidText(error);
  const standard = standardMessage(error);
  if (standard !== undefined) return standard;
  const message = error instanceof Error ? error.message : String(error);
  return message.startsWith("error: ") ? message : `error: ${message}`;
}

/** The message of one error among several. */
export const messageOf = (error: unknown): string =>
  standardMessage(error) ?? (error instanceof Error ? error.message : String(error));

/** Undefined if it is none of the errors that have words of their own. */
function standardMessage(error: unknown): string | undefined {
  if (error instanceof ApiError) {
    if (error.reason === "Unauthorized") return `error: You must be logged in to the server (${error.message})`;
    return `Error from server${error.reason === "" ? "" : ` (${error.reason})`}: ${error.message}`;
  }
  if (error instanceof ServerUnreachable)
    return error.message.includes("connection refused")
      ? `The connection to the server ${error.host} was refused - did you specify the right host or port?`
      : `Unable to connect to the server: ${error.message}`;
  return undefined;
}

function invalidText({ message, details }: ApiError): string {
  if (!details) return message === "" ? "The request is invalid" : `The request is invalid: ${message}`;
  const { kind = "", name = "", causes = [] } = details;
  const isNamed = kind !== "" || name !== "";
  const head = isNamed ? `The ${kind} ${JSON.stringify(name)} is invalid` : "The request is invalid";
  if (causes.length > 0) return multiline(`${head}: `, causes);
  return !isNamed && message !== "" ? `${head}: ${message}` : head;
}

function multiline(prefix: string, causes: readonly StatusCause[]): string {
  const texts = [...new Set(causes.map(({ field = "", message = "" }) => `${field}: ${message}`))];
  return texts.length === 1 ? `${prefix}${texts[0]}\n` : `${prefix}\n${texts.map((text) => `* ${text}\n`).join("")}`;
}

/** A refusal with what was done and where the object came from said before it. */
export function withSource(verb: string, source: string, error: unknown): unknown {
  if (source === "" || !(error instanceof Error)) return error;
  const message = `error when ${verb} ${JSON.stringify(source)}: ${error.message}`;
  if (!(error instanceof ApiError)) return new KubectlError(message, { cause: error });
  const { code, reason, details } = error;
  return new ApiError({ code, reason, message, ...(details && { details }) }, { cause: error });
}
