// Where admission plugs in: the chain is given to the registry, which calls it at two moments.
import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest } from "#wire/api-request.ts";

export interface AdmissionCall {
  readonly request: ApiRequest;
  /** The kind of the requested resource. The body of a subresource may be of another kind: that of pods/binding is a `Binding`. */
  readonly kind: AnyKind;
  readonly operation: "create" | "update" | "delete" | "connect";
  readonly old: ApiObject | undefined;
  readonly dryRun: boolean;
}

/** Undefined where nothing has to be waited for: most plugins answer from what is in memory. */
export interface Admission {
  /** May change the object or refuse it, by throwing ApiError. Of a deletion there is no object. */
  mutate(call: AdmissionCall, object: DraftObject | undefined): Promise<void> | undefined;
  /** May only refuse. */
  validate(call: AdmissionCall, object: ApiObject | undefined): Promise<void> | undefined;
  /** Work that goes on beside requests for as long as the server runs. */
  readonly background?: readonly Component[];
}

export const admitAll: Admission = { mutate: () => undefined, validate: () => undefined };
