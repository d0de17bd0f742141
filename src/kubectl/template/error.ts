/** A template that cannot be parsed, or that failed on an object; the message is Go's. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** What a function refuses its arguments with. */
export class FunctionError extends Error {
  override readonly name = "FunctionError";
}
