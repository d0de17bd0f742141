// Where the next page of a list starts: the revision of the first page, and the key after the last item.
import { fromBase64Url, toBase64Url } from "#base/base64.ts";
import { parseJson } from "#schema/json.ts";
import type { Revision } from "#store/engine.ts";
import { badRequest } from "#wire/status.ts";

const version = "meta.k8s.io/v1";

export function encodeContinue(lastKey: string, prefix: string, revision: Revision): string {
  const json = JSON.stringify({ v: version, rv: revision, start: `${lastKey.slice(prefix.length)}\u0000` });
  return toBase64Url(new TextEncoder().encode(json));
}

/** The key to start behind, and the revision to read at. */
export function decodeContinue(token: string, prefix: string): { readonly after: string; readonly revision: Revision } {
  const bad = (why: string) => badRequest(`invalid continue token: continue key is not valid${why}`);
  let parsed: unknown;
  try {
    const bytes = fromBase64Url(token);
    if (!bytes) throw new Error("Invalid character");
    parsed = parseJson(new TextDecoder().decode(bytes)).value;
  } catch (cause) {
    throw bad(`: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const { v, rv, start } = (parsed ?? {}) as Record<string, unknown>;
  if (v !== version) throw bad(`: server does not recognize this encoded version ${String(v)}`);
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0)
    throw bad(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (typeof start !== "string" || start === "") throw bad(": encoded start key empty (version meta.k8s.io/v1)");
  // A token is made by clients, too: it must not lead out of the collection.
  if (start.split("/").some((part) => part === "" || part === "." || part === "..") || !start.endsWith("\u0000"))
    throw bad(`: ${start}`);
  return { after: prefix + start.slice(0, -1), revision: rv };
}
