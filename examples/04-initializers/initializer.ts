// An initializer: acts on new objects before anybody else sees them, when it is its turn.
import { ApiError } from "#base/errors.ts";
import type { Transport } from "#client/client.ts";
import { objectBody } from "#client/object-body.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { User } from "#wire/api-request.ts";

export interface Initializer {
  /** As an InitializerConfiguration names it. */
  readonly name: string;
  readonly kind: AnyKind;
  /** The object as it shall be, or why it cannot be. */
  act(object: ApiObject): ApiObject | string;
}

/** Watches all objects of the kind, also those that are not seen yet, until the signal aborts. */
export async function runInitializer(
  { name, kind, act }: Initializer,
  { transport, user }: { readonly transport: Transport; readonly user: User },
  signal: AbortSignal,
): Promise<void> {
  const { group, version, plural: resource } = kind;
  const common = { group, version, resource, user, userAgent: name, expects: kind, signal };
  const watch = {
    ...common,
    verb: "watch" as const,
    query: new URLSearchParams({ watch: "1", includeUninitialized: "true" }),
  };
  const answer = await transport(watch);
  if (answer.type !== "watch") throw new Error(`a watch of ${resource} was not answered by one`);
  for await (const events of answer.events)
    for (const { type, object } of events) {
      const waiting = object as ApiObject;
      if ((type !== "ADDED" && type !== "MODIFIED") || turnOf(waiting) !== name) continue;
      const { namespace, name: itsName = "" } = waiting.metadata;
      const place = { ...(namespace !== undefined && { namespace }), name: itsName, query: new URLSearchParams() };
      const body = objectBody(initialized(waiting, act(waiting)));
      await transport({ ...common, ...place, verb: "update", body }).catch((error: unknown) => {
        // Somebody else wrote it meanwhile: the watch brings what they wrote.
        if (!(error instanceof ApiError && ["Conflict", "NotFound"].includes(error.reason))) throw error;
      });
    }
}

const turnOf = ({ metadata }: ApiObject): string | undefined => metadata.initializers?.pending?.[0]?.name;

/** The object with this initializer taken off, or with a result that has it deleted. */
function initialized(before: ApiObject, after: ApiObject | string): ApiObject {
  const { pending = [] } = before.metadata.initializers ?? {};
  if (typeof after !== "string")
    return { ...after, metadata: { ...after.metadata, initializers: { pending: pending.slice(1) } } } as ApiObject;
  const result = { status: "Failure", message: after, reason: "Invalid", code: 422 };
  return { ...before, metadata: { ...before.metadata, initializers: { pending, result } } } as ApiObject;
}
