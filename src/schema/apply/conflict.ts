// The answer to an apply that would take fields from others.
import { ApiError } from "#base/errors.ts";
import { pathText } from "./element.ts";
import { type FieldSet, inOrder, pathsOf } from "./field-set.ts";
import type { Owner } from "./managed.ts";
import { compareText, goQuote } from "./value.ts";

/** Fields of one owner that an apply would change. */
export interface FieldConflict {
  readonly id: string;
  readonly owner: Owner;
  readonly fields: FieldSet;
}

/** Raised inside; clients see the ApiError made of it. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  readonly conflicts: readonly FieldConflict[];

  constructor(conflicts: readonly FieldConflict[]) {
    super("apply conflicts with other managers");
    this.conflicts = conflicts.toSorted((a, b) => compareText(a.id, b.id));
  }
}

/** 409, with one cause for each field. */
export function conflictStatus(conflicts: readonly FieldConflict[]): ApiError {
  const byOwner = conflicts.map(({ owner, fields }) => ({
    owner: ownerText(owner),
    paths: pathsOf(inOrder(fields)).map(pathText),
  }));
  const causes = byOwner.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${owner}`, field })),
  );
  return new ApiError({
    code: 409,
    reason: "Conflict",
    message: conflictMessage(byOwner, causes.length),
    details: { causes },
  });
}

function conflictMessage(byOwner: readonly { owner: string; paths: readonly string[] }[], count: number): string {
  const [first] = byOwner;
  if (first && count === 1) return `Apply failed with 1 conflict: conflict with ${first.owner}: ${first.paths[0]}`;
  const lines = byOwner.flatMap(({ owner, paths }) => [
    `conflicts with ${owner}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

function ownerText({ manager, operation, subresource, apiVersion }: Owner): string {
  const name = goQuote(manager) + (subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`);
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}
