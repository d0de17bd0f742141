// What all reviews share: the body is decoded and validated like any object, and returned with its status.
import { shownAsUpstream } from "#api/internal-form.ts";
import { inTurns } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { trackSteps } from "#schema/apply/apply.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { validateObject } from "#schema/validate.ts";
import type { ApiRequest, ApiResponse, User } from "#wire/api-request.ts";
import { invalidObject } from "#wire/status.ts";
import { parseWriteOptions } from "../registry/options.ts";
import { decodeBody } from "../verbs/body.ts";

export interface ReviewRequest {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

/** The review in a request. Throws ApiError 400 or 422 if it is invalid. */
export async function decodeReview(request: ApiRequest, kind: AnyKind): Promise<ReviewRequest> {
  const { object, warnings } = await decodeBody(request, kind, parseWriteOptions(request, "CreateOptions"));
  return { object: object as ApiObject, warnings };
}

/** The same with managedFields: the client owns its fields, as the creator of a stored object does. */
export async function decodeOwnedReview(request: ApiRequest, kind: AnyKind, clock: Clock): Promise<ReviewRequest> {
  const options = parseWriteOptions(request, "CreateOptions");
  const { object, warnings } = await decodeBody(request, kind, options);
  if (kind.scope === "Cluster") delete object.metadata.namespace;
  await noteOwner({ kind, object, manager: options.fieldManager, clock });
  return { object: object as ApiObject, warnings };
}

/** Notes the owner of the fields in managedFields, as for a stored object. */
export async function noteOwner({
  object,
  clock,
  ...write
}: {
  readonly kind: AnyKind;
  readonly object: DraftObject;
  readonly manager: string;
  readonly clock: Clock;
  readonly subresource?: string;
}): Promise<void> {
  const owners = await inTurns(trackSteps({ ...write, live: undefined, updated: object, now: clock.now() }));
  if (owners.length > 0) object.metadata.managedFields = owners as never;
  else delete object.metadata.managedFields;
}

/** Upstream does not say which kind of review it refuses. */
export function refuseInvalid(kind: AnyKind, object: ApiObject): void {
  const problems = validateObject(kind, object);
  if (problems.length > 0)
    throw invalidObject({ group: kind.group, kind: "" }, "", shownAsUpstream(kind.struct, problems));
}

export const reviewResponse = (kind: AnyKind, object: object, warnings: readonly string[] = []): ApiResponse => ({
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
