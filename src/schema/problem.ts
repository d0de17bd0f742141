// What is wrong with one field, in upstream's words. Kubernetes' clients match on these texts.
import type { StatusCause } from "#base/errors.ts";

export type ProblemType =
  | "Required"
  | "Invalid"
  | "NotSupported"
  | "Forbidden"
  | "Duplicate"
  | "TooLong"
  | "TooShort"
  | "TooMany"
  | "TooFew"
  | "NotFound"
  | "TypeInvalid"
  | "InternalError";

export interface Problem {
  readonly type: ProblemType;
  /** Path of the field from where the problem was found; validation puts the way there in front. */
  field: string;
  readonly detail: string;
  /** The value as it will be shown. Left out, it is read from the object at `field`. */
  value?: unknown;
  /** Reported after all others of its struct, whatever field it names. */
  readonly isLast?: boolean;
  /** Whether the value is the one at `field`, as the object has it; upstream shows its own form of it. */
  readonly isHeld?: boolean;
  /** Whether the value is shown at all is up to the type; this hides it. */
  readonly hidden?: boolean;
}

/** Of one object. Upstream looks for all of them. */
export const mostProblems = 1000;

/** Takes in what is found until there is enough. */
export function addProblems(problems: Problem[], found: Iterable<Problem>): void {
  for (const problem of found) {
    problems.push(problem);
    if (problems.length >= mostProblems) return;
  }
}

const titles: Readonly<Record<ProblemType, string>> = {
  Required: "Required value",
  Invalid: "Invalid value",
  NotSupported: "Unsupported value",
  Forbidden: "Forbidden",
  Duplicate: "Duplicate value",
  TooLong: "Too long",
  TooShort: "Too short",
  TooMany: "Too many",
  TooFew: "Too few",
  NotFound: "Not found",
  TypeInvalid: "Invalid value",
  InternalError: "Internal error",
};

/** Types that name the value they refuse. */
const showsValue: ReadonlySet<ProblemType> = new Set([
  "Invalid",
  "TypeInvalid",
  "NotSupported",
  "NotFound",
  "Duplicate",
  "TooMany",
  "TooFew",
]);

export const required = (field: string, detail = ""): Problem => ({ type: "Required", field, detail });
export const invalid = (field: string, detail: string, value?: unknown): Problem => ({
  type: "Invalid",
  field,
  detail,
  ...given(value),
});
export const forbidden = (field: string, detail = ""): Problem => ({ type: "Forbidden", field, detail });
export const internalError = (field: string, detail: string): Problem => ({ type: "InternalError", field, detail });
export const duplicate = (field: string, value?: unknown): Problem => ({
  type: "Duplicate",
  field,
  detail: "",
  ...given(value),
});
export const notFound = (field: string, value?: unknown): Problem => ({
  type: "NotFound",
  field,
  detail: "",
  ...given(value),
});
export const tooLong = (field: string, most: number): Problem => ({
  type: "TooLong",
  field,
  detail: `may not be more than ${most} byte${most === 1 ? "" : "s"}`,
});
export const tooMany = (field: string, actual: number, most: number): Problem => ({
  type: "TooMany",
  field,
  detail: `must have at most ${most} item${most === 1 ? "" : "s"}`,
  value: actual,
});
export const tooFew = (field: string, actual: number, least: number): Problem => ({
  type: "TooFew",
  field,
  detail: `must have at least ${least} item${least === 1 ? "" : "s"}`,
  value: actual,
});
export const notSupported = (field: string, supported: readonly string[], value?: unknown): Problem => ({
  type: "NotSupported",
  field,
  detail: supported.length === 0 ? "" : `supported values: ${supported.map((one) => JSON.stringify(one)).join(", ")}`,
  ...given(value),
});

const given = (value: unknown) => (value === undefined ? {} : { value });

export const isValueShown = ({ type, hidden }: Problem): boolean => showsValue.has(type) && !hidden;

/** The problem without its field: `Invalid value: -1: must be greater than or equal to 0`. */
export function problemBody(problem: Problem): string {
  const { type, detail, value } = problem;
  const title = titles[type];
  const head = isValueShown(problem) ? `${title}: ${shown(value)}` : title;
  return detail === "" ? head : `${head}: ${detail}`;
}

export const problemText = (problem: Problem): string => `${problem.field}: ${problemBody(problem)}`;

export const problemCause = (problem: Problem): StatusCause => ({
  reason: problem.type === "InternalError" ? "InternalError" : `FieldValue${problem.type}`,
  message: problemBody(problem),
  field: problem.field,
});

function shown(value: unknown): string {
  const text = value === undefined ? "null" : JSON.stringify(value);
  // Go writes objects so that they can stand in HTML; texts are only put in quotes.
  if (typeof value !== "object") return text;
  return text.replaceAll(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
