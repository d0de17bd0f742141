// May they? Authorizers are asked in order; the first that has an opinion decides, and none means no.
import { type FieldRequirement, FieldSelectorError, parseFieldSelector } from "#schema/field-selector.ts";
import { pathSegment } from "#schema/formats.ts";
import type { AuthorizationVerdict, Authorize, Question } from "#serving/authorization.ts";
import type { ApiRequest, ResourceAddress, User } from "#wire/api-request.ts";

export type Authorizer = Authorize;

/** Whoever is known may do everything. Upstream's AlwaysAllow lets strangers in as well; that is nobody's wish on a real port. */
export const allowKnown: Authorizer = ({ user }) => ({
  decision: user.groups.includes("system:unauthenticated") ? "none" : "allow",
});
export const denyAll: Authorizer = () => ({ decision: "none", reason: "Everything is forbidden." });

/** Members of this group may do everything, whatever the other authorizers say: how a cluster is first set up. */
export const mastersFirst: Authorizer = ({ user }) =>
  user.groups.includes("system:masters") ? { decision: "allow" } : { decision: "none" };

/** What anyone may see without being known: whether the server is well, and which version it is. */
const publicPaths = new Set(["/healthz", "/livez", "/readyz", "/version", "/version/"]);
export const publicPathsFirst: Authorizer = (question) =>
  question.type === "path" && question.verb === "get" && publicPaths.has(question.path)
    ? { decision: "allow" }
    : { decision: "none" };

export const anyOf =
  (authorizers: readonly Authorizer[]): Authorize =>
  (question) =>
    askFrom(0, authorizers, question, []);

function askFrom(
  first: number,
  authorizers: readonly Authorizer[],
  question: Question,
  reasons: readonly string[],
): Promise<AuthorizationVerdict> | AuthorizationVerdict {
  let heard = reasons;
  const hear = ({ reason }: AuthorizationVerdict) => (reason ? [...heard, reason] : heard);
  for (let i = first; i < authorizers.length; i++) {
    const verdict = (authorizers[i] as Authorizer)(question);
    if (verdict instanceof Promise)
      return verdict.then((late) =>
        late.decision === "none" ? askFrom(i + 1, authorizers, question, hear(late)) : late,
      );
    if (verdict.decision !== "none") return verdict;
    heard = hear(verdict);
  }
  return { decision: "none", reason: heard.join("\n") };
}

const ofMany: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

/** What a request asks of the authorizers. */
export const questionOf = (request: ApiRequest): Question =>
  questionAbout(request, request.verb, request.user, request.query);

export function questionAbout(address: ResourceAddress, verb: string, user: User, query: URLSearchParams): Question {
  const { group, version, resource, subresource } = address;
  const selector = ofMany.has(verb) ? query.get("fieldSelector") : null;
  const fieldSelector = selector ? readFieldSelector(selector) : undefined;
  const labelSelector = ofMany.has(verb) ? query.get("labelSelector") || undefined : undefined;
  const name = address.name ?? (verb === "deletecollection" ? undefined : nameIn(fieldSelector));
  // A namespace is in itself, so that whoever is given a role there may see it.
  const namespace = address.namespace ?? (group === "" && resource === "namespaces" ? address.name : undefined);
  return {
    type: "resource",
    user,
    verb,
    group,
    version,
    resource,
    namespace,
    name,
    subresource,
    fieldSelector,
    labelSelector,
  };
}

/** A selector that cannot be read narrows nothing; what is wrong with it is said when it is used. */
export function readFieldSelector(selector: string): readonly FieldRequirement[] | undefined {
  try {
    return parseFieldSelector(selector);
  } catch (error) {
    if (error instanceof FieldSelectorError) return undefined;
    throw error;
  }
}

/** A list or a watch of one object is a request for that object. The deletion of a collection is not, whatever it is narrowed to. */
function nameIn(requirements: readonly FieldRequirement[] = []): string | undefined {
  const name = requirements.find(({ field, operator }) => field === "metadata.name" && operator === "=")?.value;
  return name && [...pathSegment(name)].length === 0 ? name : undefined;
}
