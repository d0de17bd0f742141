// Upstream: kubectl/pkg/cmd/create/create_role.go, create_clusterrole.go, create_rolebinding.go and create_clusterrolebinding.go.
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { FlagDeclarations } from "../../flags.ts";
import { filled, parseLabelPairs } from "../../generators/generated.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { createGenerated, generatorFlags } from "../create-generated.ts";
import { oneName } from "./one-name.ts";

const rbac = "rbac.authorization.k8s.io";
const resourceVerbs = [
  ..."* get delete list create update patch watch proxy deletecollection use bind escalate impersonate approve sign attest".split(
    " ",
  ),
];
const urlVerbs = ["*", "get", "post", "put", "delete", "patch", "head", "options"];

const ruleFlags = {
  resource: { type: "stringSlice", help: "Resources of the rule, as resource[.group][/subresource]." },
  "resource-name": { type: "stringArray", help: "Name of the one object that the rule is about; can be repeated." },
  verb: { type: "stringSlice", help: "What may be done." },
} as const satisfies FlagDeclarations;

interface RuleRequest {
  readonly resource: readonly string[];
  readonly "resource-name": readonly string[];
  readonly verb: readonly string[];
}

const verbsOf = (verbs: readonly string[]): readonly string[] => (verbs.includes("*") ? ["*"] : [...new Set(verbs)]);

/** One rule for each group, in the order of the groups. Throws KubectlError for a resource that the server does not have. */
async function rulesOf(
  session: Session,
  { resource, verb, "resource-name": names }: RuleRequest,
): Promise<KubeObject[]> {
  const verbs = verbsOf(verb);
  for (const one of verbs)
    if (!resourceVerbs.includes(one)) session.printError(`Warning: '${one}' is not a standard resource verb`);
  const groups = new Map<string, string[]>();
  for (const text of resource.includes("*") ? ["*"] : resource) {
    const { group, name } = await servedResource(session, text);
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, resources]) => ({
      apiGroups: [group],
      ...filled("resourceNames", [...new Set(names)]),
      resources,
      verbs,
    }));
}

async function servedResource(
  session: Session,
  text: string,
): Promise<{ readonly group: string; readonly name: string }> {
  const [whole = "", ...sub] = text.split("/");
  const [resource = "", ...group] = whole.split(".");
  if (resource === "") throw new KubectlError("resource must be specified if apiGroup/subresource specified");
  const suffix = sub.length > 0 ? `/${sub.join("/")}` : "";
  if (resource === "*") return { group: group.join("."), name: `*${suffix}` };
  const mapping = await (await session.mapper()).resourceFor(whole);
  return { group: mapping.group, name: `${mapping.resource}${suffix}` };
}

export const createRole = command({
  use: "role NAME --verb=verb --resource=resource.group/subresource [--resource-name=resourcename]",
  flags: { ...generatorFlags, ...ruleFlags },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    if (flags.verb.length === 0) throw new KubectlError("at least one verb must be specified");
    if (flags.resource.length === 0) throw new KubectlError("at least one resource must be specified");
    const rules = await rulesOf(session, flags);
    const object = { apiVersion: `${rbac}/v1`, kind: "Role", metadata: { name }, rules };
    await createGenerated(session, flags, object, "failed to create role: ");
  },
});

export const createClusterRole = command({
  use: "clusterrole NAME --verb=verb --resource=resource.group [--resource-name=resourcename]",
  flags: {
    ...generatorFlags,
    ...ruleFlags,
    "aggregation-rule": { type: "string", help: "Labels of the roles that this one is made of." },
    "non-resource-url": { type: "stringSlice", help: "Paths of the rule." },
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const head = { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name } };
    const { "aggregation-rule": aggregation, "non-resource-url": urls, verb, resource } = flags;
    if (aggregation !== "") {
      if ([urls, verb, resource, flags["resource-name"]].some((list) => list.length > 0))
        throw new KubectlError(
          "aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames",
        );
      const aggregationRule = { clusterRoleSelectors: [{ matchLabels: parseLabelPairs(aggregation) }] };
      return createGenerated(
        session,
        flags,
        { ...head, aggregationRule, rules: null },
        "failed to create clusterrole: ",
      );
    }
    if (verb.length === 0) throw new KubectlError("at least one verb must be specified");
    if (resource.length === 0 && urls.length === 0)
      throw new KubectlError("one of resource or nonResourceURL must be specified");
    const rules = resource.length > 0 ? await rulesOf(session, flags) : [];
    if (urls.length > 0) rules.push(urlRule(urls, verb));
    await createGenerated(session, flags, { ...head, rules }, "failed to create clusterrole: ");
  },
});

function urlRule(urls: readonly string[], verbs: readonly string[]): KubeObject {
  const wrong = verbs.find((verb) => !urlVerbs.includes(verb));
  if (wrong !== undefined) throw new KubectlError(`invalid verb: '${wrong}' for nonResourceURL`);
  for (const url of urls) {
    if (url === "*") continue;
    if (!url.startsWith("/")) throw new KubectlError("nonResourceURL should start with /");
    if (url.slice(0, -1).includes("*"))
      throw new KubectlError("nonResourceURL only supports wildcard matches when '*' is at the end");
  }
  return { nonResourceURLs: [...new Set(urls)], verbs: verbsOf(verbs) };
}

const bindingFlags = {
  clusterrole: { type: "string", help: "The cluster role to bind." },
  group: { type: "stringArray", help: "Group to bind it to; can be repeated." },
  serviceaccount: { type: "stringArray", help: "Service account to bind it to, as namespace:name; can be repeated." },
  user: { type: "stringArray", help: "User to bind it to; can be repeated." },
} as const satisfies FlagDeclarations;

interface BindingRequest {
  readonly group: readonly string[];
  readonly serviceaccount: readonly string[];
  readonly user: readonly string[];
}

const subjectsOf = ({ user, group, serviceaccount }: BindingRequest): readonly KubeObject[] => [
  ...user.map((name) => ({ apiGroup: rbac, kind: "User", name })),
  ...group.map((name) => ({ apiGroup: rbac, kind: "Group", name })),
  ...serviceaccount.map((text) => {
    const [namespace = "", name = "", ...rest] = text.split(":");
    if (namespace === "" || name === "" || rest.length > 0)
      throw new KubectlError("serviceaccount must be <namespace>:<name>");
    return { kind: "ServiceAccount", name, namespace };
  }),
];

export const createRoleBinding = command({
  use: "rolebinding NAME --clusterrole=NAME|--role=NAME [--user=username] [--group=groupname] [--serviceaccount=namespace:serviceaccountname]",
  flags: { ...generatorFlags, ...bindingFlags, role: { type: "string", help: "The role to bind." } },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const { role, clusterrole } = flags;
    if ((role === "") === (clusterrole === ""))
      throw new KubectlError("exactly one of clusterrole or role must be specified");
    const roleRef = { apiGroup: rbac, kind: role === "" ? "ClusterRole" : "Role", name: role || clusterrole };
    const head = { apiVersion: `${rbac}/v1`, kind: "RoleBinding", metadata: { name } };
    const object = { ...head, roleRef, ...filled("subjects", subjectsOf(flags)) };
    await createGenerated(session, flags, object, "failed to create rolebinding: ");
  },
});

export const createClusterRoleBinding = command({
  use: "clusterrolebinding NAME --clusterrole=NAME [--user=username] [--group=groupname] [--serviceaccount=namespace:serviceaccountname]",
  flags: { ...generatorFlags, ...bindingFlags },
  run: async (session, _, flags, invocation) => {
    if (flags.clusterrole === "") throw new KubectlError('required flag(s) "clusterrole" not set');
    const name = oneName(invocation);
    const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: flags.clusterrole };
    const head = { apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata: { name } };
    const object = { ...head, roleRef, ...filled("subjects", subjectsOf(flags)) };
    await createGenerated(session, flags, object, "failed to create clusterrolebinding: ");
  },
});
