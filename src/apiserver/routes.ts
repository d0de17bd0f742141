// Which paths the API has, and what may be done at each of them. Follows the routes of upstream's endpoints/installer.go.
import { type AnyKind, allVerbs, type Verb } from "#schema/kind.ts";
import type { RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import { methodNotAllowed, notFound, unknownPath } from "#wire/status.ts";

type Address = ResourceAddress & { readonly rest?: string | undefined };

/**
 * Throws ApiError 404 for a path that the kind does not have, and 405 for a verb that the path does not take. An undefined verb
 * stands for a method that means nothing to the API at such a path.
 *
 * A user is authorized in the namespace that the path names. The object must therefore lie in that namespace, too: a cluster-scoped
 * kind has no path below a namespace, and a namespaced kind has only its list and its watch outside of one.
 */
export function checkRoute(kind: AnyKind | undefined, address: Address, verb: RequestVerb | undefined): void {
  if (kind && verb && hasRoute(kind, address, verb)) return;
  const { subresource, name, group, resource } = address;
  if (kind?.model.publication.isUnstructured && subresource !== undefined && !hasSubresource(kind, address))
    throw notFound({ group, resource }, name ?? "");
  throw kind && allVerbs.some((one) => hasRoute(kind, address, one)) ? methodNotAllowed() : unknownPath();
}

function hasRoute(kind: AnyKind, { namespace, name, subresource, rest = "/" }: Address, verb: RequestVerb): boolean {
  const isNamespaced = kind.scope === "Namespaced";
  if (!isNamespaced && namespace !== undefined) return false;
  const isOutside = isNamespaced && namespace === undefined;
  if (subresource !== undefined) return name !== undefined && !isOutside && takes(kind, subresource, rest, verb);
  if (verb === "connect" || !kind.verbs.includes(verb)) return false;
  switch (verb) {
    case "list":
      return name === undefined;
    case "watch":
      return name === undefined || !isOutside; // the old path of a watch may name an object
    case "create":
    case "deletecollection":
      return name === undefined && !isOutside;
    default:
      return name !== undefined && !isOutside;
  }
}

const hasSubresource = ({ subresources = {} }: AnyKind, { subresource = "", rest = "/" }: Address): boolean =>
  Object.hasOwn(subresources, subresource) && rest === "/";

const verbsOfParts: readonly Verb[] = ["get", "update", "patch"];

/** Which methods a connection takes is its own affair. */
function takes({ subresources = {} }: AnyKind, name: string, rest: string, verb: RequestVerb): boolean {
  const subresource = Object.hasOwn(subresources, name) ? subresources[name] : undefined;
  if (subresource === undefined) return false;
  const { verbs, path } =
    subresource === true || !("verbs" in subresource) ? { verbs: verbsOfParts, path: false } : subresource;
  return (rest === "/" || path === true) && (verb === "connect" || verbs.includes(verb));
}
