// What a kubelet may do: read what its own pods need, write about itself and them, and otherwise what all nodes may do alike.
// What authorization cannot see, such as the name in a body, is left to the NodeRestriction admission plugin.
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import type { AuthorizationVerdict, Question } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import { keyPrefix } from "../../store-follower.ts";
import type { CacheOf } from "../../watch-cache.ts";
import type { Authorizer } from "../authorizer.ts";
import { clusterRoles } from "../rbac/bootstrap/cluster-roles.ts";
import { ruleAllows } from "../rbac/rules.ts";
import { NodeGraph } from "./graph.ts";
import type { ReferencedResource } from "./references.ts";

type ResourceQuestion = Extract<Question, { readonly type: "resource" }>;
/** Judges requests of a node for one resource. */
type Judge = (node: string, question: ResourceQuestion) => AuthorizationVerdict;

const allow: AuthorizationVerdict = { decision: "allow" };
const no = (reason?: string): AuthorizationVerdict => ({ decision: "none", ...(reason && { reason }) });
const allowIf = (allowed: boolean, node: string): AuthorizationVerdict =>
  allowed ? allow : no(`no relationship found between node '${node}' and this object`);

/** The node a user is, undefined for others; "" if it does not say which. */
export function nodeOf({ name, groups }: User): string | undefined {
  const prefix = "system:node:";
  return name.startsWith(prefix) && groups.includes("system:nodes") ? name.slice(prefix.length) : undefined;
}

export function nodeAuthorizer(cacheOf: CacheOf): Authorizer {
  // Made when the first node asks: it reads every pod, and a server without nodes need not.
  let judges: ReturnType<typeof judgesOf> | undefined;
  const rules = clusterRoles["system:node"] ?? [];
  return (question) => {
    const node = nodeOf(question.user);
    if (node === undefined) return no();
    if (node === "") return no(`unknown node for user ${JSON.stringify(question.user.name)}`);
    judges ??= judgesOf(new NodeGraph(cacheOf), cacheOf);
    const judge = question.type === "resource" ? judges[`${question.group}/${question.resource}`] : undefined;
    if (judge && question.type === "resource") return judge(node, question);
    return rules.some((rule) => ruleAllows(rule, question)) ? allow : no();
  };
}

function judgesOf(graph: NodeGraph, cacheOf: CacheOf): Readonly<Record<string, Judge>> {
  const attachments = cacheOf(VolumeAttachment);
  const slices = cacheOf(ResourceSlice);
  const uses =
    (resource: ReferencedResource): Judge =>
    (node, { namespace = "", name }) =>
      name ? allowIf(graph.isUsed(node, resource, namespace, name), node) : no("No Object name found");
  const mounts: Judge = (node, { name }) =>
    name ? allowIf(graph.isMounted(node, name), node) : no("No Object name found");
  const attached: Judge = (node, { name }) => {
    if (!name) return no("No Object name found");
    return allowIf(attachments.get(keyPrefix(VolumeAttachment) + name)?.object.spec.nodeName === node, node);
  };
  const publishes: Judge = (node, { name }) => {
    if (!name) return no("No Object name found");
    return allowIf(slices.get(keyPrefix(ResourceSlice) + name)?.object.spec.nodeName === node, node);
  };
  const runs: Judge = (node, { namespace = "", name }) =>
    name ? allowIf(graph.isRunning(node, namespace, name), node) : no("No Object name found");
  const claims = uses("persistentvolumeclaims");

  return {
    "/secrets": reading(uses("secrets")),
    "/configmaps": reading(uses("configmaps")),
    "/persistentvolumeclaims": (node, question) =>
      question.subresource === "status" ? updatingStatus(claims)(node, question) : getting(claims)(node, question),
    "/persistentvolumes": getting(mounts),
    "resource.k8s.io/resourceclaims": getting(uses("resourceclaims")),
    "storage.k8s.io/volumeattachments": getting(attached),
    "/serviceaccounts": serviceAccounts(uses("serviceaccounts")),
    "coordination.k8s.io/leases": leases,
    "storage.k8s.io/csinodes": csiNodes,
    "resource.k8s.io/resourceslices": resourceSlices(publishes),
    "/nodes": nodes,
    "/pods": pods(runs),
    // Nodes have nothing to do with them until pods can be given certificates.
    "certificates.k8s.io/podcertificaterequests": () => no(),
  };
}

const getting =
  (related: Judge): Judge =>
  (node, question) => {
    if (question.verb !== "get") return no("can only get individual resources of this type");
    return question.subresource ? no("cannot get subresource") : related(node, question);
  };

const reading =
  (related: Judge): Judge =>
  (node, question) => {
    if (!["get", "list", "watch"].includes(question.verb)) return no("can only read resources of this type");
    if (question.subresource) return no("cannot read subresource");
    if (!question.namespace) return no("can only read namespaced object of this type");
    return related(node, question);
  };

const updatingStatus =
  (related: Judge): Judge =>
  (node, question) =>
    question.verb === "update" || question.verb === "patch"
      ? related(node, question)
      : no("can only get/update/patch this type");

const serviceAccounts =
  (related: Judge): Judge =>
  (node, question) => {
    if (question.verb === "get" && !question.subresource) return reading(related)(node, question);
    if (question.verb !== "create" || !question.name)
      return no("can only create tokens for individual service accounts");
    if (question.subresource !== "token") return no("can only create token subresource of serviceaccount");
    return related(node, question);
  };

const ownVerbs = ["get", "create", "update", "patch", "delete"];

/** Of a create the name is not known yet. */
const leases: Judge = (node, { verb, namespace, name }) => {
  if (!ownVerbs.includes(verb)) return no("can only get, create, update, patch, or delete a node lease");
  if (namespace !== "kube-node-lease") return no('can only access leases in the "kube-node-lease" system namespace');
  if (verb !== "create" && name !== node)
    return no("can only access node lease with the same name as the requesting node");
  return allow;
};

const csiNodes: Judge = (node, { verb, subresource, name }) => {
  if (!ownVerbs.includes(verb)) return no("can only get, create, update, patch, or delete a CSINode");
  if (subresource) return no("cannot authorize CSINode subresources");
  if (verb !== "create" && name !== node)
    return no("can only access CSINode with the same name as the requesting node");
  return allow;
};

const resourceSlices =
  (publishes: Judge): Judge =>
  (node, question) => {
    if (question.subresource) return no("cannot authorize ResourceSlice subresources");
    switch (question.verb) {
      case "create":
        return allow;
      case "get":
      case "update":
      case "patch":
      case "delete":
        return publishes(node, question);
      case "list":
      case "watch":
      case "deletecollection":
        return selects(question, "spec.nodeName", node)
          ? allow
          : no("can only list/watch/deletecollection resourceslices with nodeName field selector");
      default:
        return no(
          "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
        );
    }
  };

/** By name and not by what exists: a kubelet looks for its node before it makes it. */
const nodes: Judge = (node, { verb, subresource, name }) => {
  if (subresource === "status" && (verb === "update" || verb === "patch")) return allow;
  if (subresource) return no();
  if (["create", "update", "patch"].includes(verb)) return allow;
  if (!["get", "list", "watch"].includes(verb)) return no();
  if (name === node) return allow;
  return no(
    name
      ? `node '${node}' cannot read '${name}', only its own Node object`
      : `node '${node}' cannot read all nodes, only its own Node object`,
  );
};

const pods =
  (runs: Judge): Judge =>
  (node, question) => {
    const { verb, subresource = "" } = question;
    switch (`${verb}/${subresource}`) {
      case "get/":
        return runs(node, question);
      case "list/":
      case "watch/":
        if (selects(question, "spec.nodeName", node)) return allow;
        return question.name ? runs(node, question) : no("can only list/watch pods with spec.nodeName field selector");
      case "create/":
      case "delete/":
      case "update/status":
      case "patch/status":
      case "create/eviction":
        return allow;
      default:
        return no();
    }
  };

const selects = ({ fieldSelector = [] }: ResourceQuestion, wanted: string, value: string): boolean =>
  fieldSelector.some((one) => one.field === wanted && one.operator === "=" && one.value === value);
