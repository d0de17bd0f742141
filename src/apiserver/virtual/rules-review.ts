// Upstream: pkg/registry/authorization/selfsubjectrulesreview/rest.go.
import { SelfSubjectRulesReview } from "#api/authorization/v1/self-subject-rules-review.ts";
import { equal } from "#base/collections.ts";
import type { User } from "#wire/api-request.ts";
import { badRequest } from "#wire/status.ts";
import type { Rule } from "../authorization/rbac/rules.ts";
import type { VirtualHandler } from "../served-resource.ts";
import type { VirtualParts } from "./list.ts";
import { decodeReview, reviewResponse } from "./review.ts";

const all = ["*"];
const allObjects = { verbs: all, apiGroups: all, resources: all };
const allPaths = { verbs: all, nonResourceURLs: all };

/** Adds a rule for everything, if another authorizer allows everything and no role does. */
const withAll = (rules: readonly object[], everything: object | false): readonly object[] =>
  everything && !rules.some((rule) => equal(rule, everything)) ? [...rules, everything] : rules;

/**
 * What you may do in a namespace. Roles can be listed; other authorizers only answer questions, so besides the rules of roles this
 * tells whether they allow everything, and otherwise says that the list may be incomplete.
 */
export const selfSubjectRulesReview =
  ({ authorize, rulesFor }: Pick<VirtualParts, "authorize" | "rulesFor">): VirtualHandler =>
  async (request) => {
    const { object, warnings } = await decodeReview(request, SelfSubjectRulesReview);
    const namespace: string = object.spec?.namespace ?? "";
    if (namespace === "") throw badRequest("no namespace on request");
    const { user } = request;
    const [resources, paths] = [await mayAllObjects(user, namespace), await mayAllPaths(user)];
    const { rules, errors, incomplete } = rulesFor(user, namespace);
    const status = {
      resourceRules: withAll(rules.flatMap(resourceRule), resources && allObjects),
      nonResourceRules: withAll(rules.flatMap(pathRule), paths && allPaths),
      incomplete: incomplete && !(resources && paths),
      ...(errors.length > 0 && { evaluationError: errors.join(", ") }),
    };
    return reviewResponse(SelfSubjectRulesReview, { metadata: {}, spec: {}, status }, warnings);

    async function mayAllObjects(user: User, namespace: string): Promise<boolean> {
      const anything = { verb: "*", group: "*", version: "*", resource: "*" };
      return (await authorize({ type: "resource", user, namespace, ...anything })).decision === "allow";
    }
    async function mayAllPaths(user: User): Promise<boolean> {
      return (await authorize({ type: "path", user, verb: "*", path: "*" })).decision === "allow";
    }
  };

const resourceRule = ({ verbs, apiGroups, resources, resourceNames }: Rule): readonly object[] =>
  resources?.length ? [{ verbs, apiGroups, resources, ...(resourceNames?.length && { resourceNames }) }] : [];

const pathRule = ({ verbs, nonResourceURLs }: Rule): readonly object[] =>
  nonResourceURLs?.length ? [{ verbs, nonResourceURLs }] : [];
