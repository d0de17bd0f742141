import { SelfSubjectRulesReview } from "#api/authorization/v1/self-subject-rules-review.ts";
import type { User } from "#wire/api-request.ts";
import { badRequest } from "#wire/status.ts";
import type { VirtualHandler } from "../served-resource.ts";
import type { VirtualParts } from "./list.ts";
import { answered, asked } from "./review.ts";

const all = ["*"];

/**
 * What you may do in a namespace. Authorizers answer questions and do not list what they would allow, so this tells whether
 * everything is allowed, and otherwise says that the list is incomplete.
 */
export const selfSubjectRulesReview =
  ({ authorize }: Pick<VirtualParts, "authorize">): VirtualHandler =>
  async (request) => {
    const { object, warnings } = asked(request, SelfSubjectRulesReview);
    const namespace: string = object.spec?.namespace ?? "";
    if (namespace === "") throw badRequest("no namespace on request");
    const [resources, paths] = [await mayAllObjects(request.user, namespace), await mayAllPaths(request.user)];
    const status = {
      resourceRules: resources ? [{ verbs: all, apiGroups: all, resources: all }] : [],
      nonResourceRules: paths ? [{ verbs: all, nonResourceURLs: all }] : [],
      incomplete: !resources || !paths,
    };
    return answered(SelfSubjectRulesReview, { metadata: {}, spec: {}, status }, warnings);

    async function mayAllObjects(user: User, namespace: string): Promise<boolean> {
      const anything = { verb: "*", group: "*", version: "*", resource: "*" };
      return (await authorize({ type: "resource", user, namespace, ...anything })).decision === "allow";
    }
    async function mayAllPaths(user: User): Promise<boolean> {
      return (await authorize({ type: "path", user, verb: "*", path: "*" })).decision === "allow";
    }
  };
