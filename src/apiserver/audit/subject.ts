import { ApiError } from "#base/errors.ts";
import type { User } from "#wire/api-request.ts";
import { type Call, questionOf } from "../pipeline/call.ts";
import { parseResourcePath, verbOf, verbOfMethod } from "../request-path.ts";
import type { AuditSubject } from "./policy.ts";

/** What a policy looks at. Clients that nobody knows are refused before anyone has looked at their path, so that is done here. */
export function subjectOf(call: Call, user: User | undefined): AuditSubject {
  const { over } = call;
  if (user || !over) return { ...questionOf(call), user };
  const { method, path, query } = over.http;
  const address = addressIn(path);
  if (!address) return { type: "path", user, verb: method.toLowerCase(), path };
  return { ...address, type: "resource", user, verb: verbOf(method, address, query) ?? verbOfMethod(method) };
}

function addressIn(path: string): ReturnType<typeof parseResourcePath> {
  try {
    return parseResourcePath(path);
  } catch (error) {
    if (error instanceof ApiError) return undefined; // a path that cannot be read is recorded as it is
    throw error;
  }
}
