// Names that a server would refuse are refused before it is asked, in its words.
import { ApiError } from "#base/errors.ts";
import { dns1123Subdomain } from "#schema/formats.ts";

/** Throws ApiError as the server would. */
export function checkName(name: string, kind: string): void {
  const [problem] = dns1123Subdomain(name);
  if (problem === undefined) return;
  const message = `Invalid value: ${JSON.stringify(name)}: ${problem}`;
  throw new ApiError({
    code: 422,
    reason: "Invalid",
    message: `${kind} ${JSON.stringify(name)} is invalid: metadata.name: ${message}`,
    details: { kind, name, causes: [{ reason: "FieldValueInvalid", message, field: "metadata.name" }] },
  });
}
