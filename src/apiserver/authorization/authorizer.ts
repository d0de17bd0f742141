// May they? Authorizers are asked in order; the first that has an opinion decides, and none means no.
import type { ResourceAddress, User } from "#wire/api-request.ts";

export type Question = { readonly user: User; readonly verb: string } & (
  | ({ readonly type: "resource" } & ResourceAddress)
  | { readonly type: "path"; readonly path: string }
);

export interface Verdict {
  readonly decision: "allow" | "deny" | "none";
  readonly reason?: string;
}

export type Authorizer = (question: Question) => Promise<Verdict> | Verdict;

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
  (authorizers: readonly Authorizer[]): ((question: Question) => Promise<Verdict>) =>
  async (question) => {
    const reasons: string[] = [];
    for (const authorize of authorizers) {
      const verdict = await authorize(question);
      if (verdict.decision !== "none") return verdict;
      if (verdict.reason) reasons.push(verdict.reason);
    }
    return { decision: "none", reason: reasons.join("; ") };
  };

/** Upstream's words for a refusal, which people and tools search for. */
export function refusalText(question: Question): string {
  const { user, verb } = question;
  const who = `User ${JSON.stringify(user.name)} cannot`;
  if (question.type === "path") return `${who} ${verb} path ${JSON.stringify(question.path)}`;
  const { group, resource, subresource, namespace } = question;
  const what = `resource ${JSON.stringify(subresource ? `${resource}/${subresource}` : resource)} in API group ${JSON.stringify(group)}`;
  return `${who} ${verb} ${what} ${namespace === undefined ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`}`;
}
