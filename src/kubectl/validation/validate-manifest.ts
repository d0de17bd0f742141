// Whether a manifest can be sent at all, and, where the server is too old to look at its fields, whether it knows them
// (upstream: kubectl/pkg/validation, kubectl/pkg/cmd/util/factory_client_access.go).
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import type { Session } from "../session.ts";
import { fieldValidationOf } from "../write-options.ts";

/** What a manifest lacks that every object has. */
export const identityProblems = (document: unknown): readonly string[] =>
  isObject(document)
    ? ["apiVersion", "kind"]
        .filter((field) => typeof document[field] !== "string" || document[field] === "")
        .map((field) => `${field} not set`)
    : ["no object"];

/** The first minor version whose servers refuse unknown fields themselves. */
const validatingMinor = 25;

/** For commands with `--validate`: undefined if nothing is to be checked. */
export function manifestValidator(
  session: Session,
  validate: string,
): ((document: unknown, source: string) => Promise<void>) | undefined {
  const directive = fieldValidationOf(validate);
  if (directive === "Ignore") return undefined;
  let isOld: Promise<boolean> | undefined;
  return async (document, source) => {
    const refuse = (problems: readonly string[]) => {
      const said = problems.length === 1 ? problems.join() : `[${problems.join(", ")}]`;
      throw new KubectlError(
        `error validating ${JSON.stringify(source)}: error validating data: ${said}; if you choose to ignore these errors, turn validation off with --validate=false`,
      );
    };
    const problems = identityProblems(document);
    if (problems.length > 0) refuse(problems);
    isOld ??= isTooOld(session);
    if (!(await isOld)) return;
    if (directive === "Warn")
      return session.warn(
        "cannot perform warn validation if server-side field validation is unsupported, skipping validation",
      );
    const { schemaProblems } = await import("./openapi-validation.ts");
    const found = await schemaProblems(session, document);
    if (found.length > 0) refuse(found);
  };
}

async function isTooOld(session: Session): Promise<boolean> {
  const { minor } = await (await session.client()).json({ path: "/version" });
  const number = Number.parseInt(String(minor), 10);
  return Number.isFinite(number) && number < validatingMinor;
}
