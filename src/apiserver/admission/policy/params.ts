// The parameters that a binding brings along: objects of any kind that is served, custom ones included.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go (CollectParams).
import type { ParamKind, ParamRef } from "#api/admissionregistration/v1/params.ts";
import type { Soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { selectorMatcher } from "#schema/selector.ts";
import { fromStored } from "../../versions.ts";
import type { ReviewedRequest } from "../matching/reviewed-request.ts";
import { find } from "../plugin.ts";

/** A policy or binding cannot be used as it is: what happens then is for the failure policy. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** Each of them is a run of the policy; one that is undefined is a run without parameters. Throws ConfigurationError. */
export function paramsOf(
  request: ReviewedRequest,
  paramKind: ParamKind | undefined,
  paramRef: ParamRef | undefined,
): Soon<readonly (ApiObject | undefined)[]> {
  return paramKind && paramRef ? someParams(request, paramKind, paramRef) : noParams;
}

const noParams = [undefined];

async function someParams(
  request: ReviewedRequest,
  paramKind: ParamKind,
  paramRef: ParamRef,
): Promise<readonly ApiObject[]> {
  const kind = kindOf(request, paramKind);
  const namespace = namespaceOf(request, kind, paramRef);
  const found = await foundParams(request, kind, namespace, paramRef);
  if (found.length === 0 && paramRef.parameterNotFoundAction === "Deny")
    throw new ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction");
  return found;
}

function kindOf(request: ReviewedRequest, { apiVersion = "", kind: name = "" }: ParamKind): AnyKind {
  const { server } = request.asked;
  const versions = server.kinds.flatMap((stored) => server.versionsOf(stored));
  const kind = versions.find((one) => one.apiVersion === apiVersion && one.kind === name);
  if (!kind)
    throw new ConfigurationError(
      `failed to find resource referenced by paramKind: '${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${name}'`,
    );
  return kind;
}

function namespaceOf(request: ReviewedRequest, kind: AnyKind, { namespace = "" }: ParamRef): string | undefined {
  if (kind.scope === "Cluster") {
    if (namespace !== "")
      throw new ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
    return undefined;
  }
  if (namespace !== "") return namespace;
  if (request.namespace === "")
    throw new ConfigurationError(
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    );
  return request.namespace;
}

async function foundParams(
  { asked }: ReviewedRequest,
  kind: AnyKind,
  namespace: string | undefined,
  { name, selector }: ParamRef,
): Promise<readonly ApiObject[]> {
  const stored = kind.convert?.to() ?? kind;
  if (name) {
    const found = (await find(asked, stored, name, namespace)) as ApiObject | undefined;
    return found ? [await fromStored(kind, found)] : [];
  }
  if (!selector) throw new ConfigurationError("one of name or selector must be provided");
  const matches = selectorMatcher(selector);
  const found = (asked.server.list(stored, namespace) as readonly ApiObject[]).filter(({ metadata }) =>
    matches(metadata.labels),
  );
  return Promise.all(found.map((object) => fromStored(kind, object)));
}
