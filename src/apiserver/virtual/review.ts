// What all reviews share: a question that is decoded and checked like any object, and sent back with its answer.
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { validateObject } from "#schema/validate.ts";
import type { ApiRequest, ApiResponse, User } from "#wire/api-request.ts";
import { invalidObject } from "#wire/status.ts";
import { parseWriteOptions } from "../registry/options.ts";
import { decodeBody } from "../writes.ts";

export interface Asked {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

/** Throws ApiError 400 or 422 if there is no sense in the question. */
export function asked(request: ApiRequest, kind: AnyKind): Asked {
  const { object, warnings } = decodeBody(request, kind, parseWriteOptions(request, "CreateOptions"));
  return { object: object as ApiObject, warnings };
}

export function refuseInvalid(kind: AnyKind, object: ApiObject): void {
  const problems = validateObject(kind, object);
  if (problems.length > 0) throw invalidObject(kind, "", problems);
}

export const answered = (kind: AnyKind, object: object, warnings: readonly string[] = []): ApiResponse => ({
  type: "plain",
  code: 201,
  kind,
  object: { kind: kind.kind, apiVersion: kind.apiVersion, ...object },
  warnings,
});

export const userInfo = ({ name, uid, groups, extra }: User): object => ({
  username: name,
  ...(uid && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(extra && Object.keys(extra).length > 0 && { extra }),
});
