// How resources are named in an EncryptionConfiguration: `secrets`, `deployments.apps`, `*.apps`, `*.` for the core group, `*.*`. Follows
// staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation_encryption.go.
import { catalog } from "#api/catalog.ts";
import { registryPrefix } from "../store-follower.ts";

export interface EncryptedResource {
  readonly group: string;
  readonly resource: string;
}

export function parseResourceName(text: string): EncryptedResource {
  const dot = text.indexOf(".");
  return dot < 0 ? { resource: text, group: "" } : { resource: text.slice(0, dot), group: text.slice(dot + 1) };
}

/** As the file has it. */
export const resourceName = ({ group, resource }: EncryptedResource): string =>
  group === "" && resource !== "*" ? resource : `${resource}.${group}`;

export const allOfGroup = (group: string): string => `*.${group}`;
export const allResources = "*.*";

/** Told of each problem of a list: where it is, the value that is wrong, and why. */
type Complaint = (at: string, value: unknown, why: string) => void;

export function checkResourceNames(names: readonly string[], at: string, invalid: Complaint): void {
  const parsed = names.map(parseResourceName);
  const pairs = parsed.flatMap((one, i) => parsed.filter((_, j) => i !== j).map((other) => [one, other] as const));
  const isEqual = (one: EncryptedResource, other: EncryptedResource) => resourceName(one) === resourceName(other);
  const firstEqual = pairs.findIndex(([one, other]) => isEqual(one, other));
  if (firstEqual >= 0) invalid(at, names, "the same resource cannot be specified multiple times");
  const overlap = pairs.some(
    ([one, other], i) =>
      // Upstream looks at each pair for one of the two mistakes: the first that is equal is no overlap.
      i !== firstEqual &&
      (resourceName(one) === allResources ||
        (one.group === other.group && (one.resource === "*" || other.resource === "*"))),
  );
  if (overlap)
    invalid(
      at,
      names,
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
    );
  for (const [i, name] of names.entries()) {
    const why = nameProblem(name);
    if (why !== undefined) invalid(`${at}[${i}]`, name, why);
  }
}

/** What the server keeps for itself. */
const withoutApi = new Set(["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"]);

function nameProblem(name: string): string | undefined {
  if (name.toLowerCase() !== name) return "resource name should not contain capital letters";
  if (name === "*") return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (withoutApi.has(name)) return "resources which do not have REST API/s cannot be encrypted";
  const { group, resource } = parseResourceName(name);
  if (group === "events.k8s.io")
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  if (group === "extensions") return "'extensions' group has been removed and cannot be used for encryption";
  return group === "*" && resource !== "*" ? "encrypting the same resource across groups is not supported" : undefined;
}

/** Groups of built-in kinds whose names have no dot; that of a custom resource always has one. */
const dotless = new Set(catalog.map(({ group }) => group).filter((group) => group !== "" && !group.includes(".")));

/** The part of a key that says of which resource the value is: the same for all its objects. Undefined outside of what the API serves. */
export function keyHead(key: string): string | undefined {
  if (!key.startsWith(registryPrefix)) return undefined;
  const first = key.indexOf("/", registryPrefix.length);
  if (first < 0) return undefined;
  const name = key.slice(registryPrefix.length, first);
  if (!name.includes(".") && !dotless.has(name)) return name;
  const second = key.indexOf("/", first + 1);
  return second < 0 ? undefined : key.slice(registryPrefix.length, second);
}

/** The name of the resource that is stored under a key, for errors. */
export function storedResource(key: string): string {
  const head = keyHead(key);
  return head === undefined ? "no resource" : resourceName(resourceOfHead(head));
}

/** The resource of a key's head: `secrets`, `apps/deployments`. */
export function resourceOfHead(head: string): EncryptedResource {
  const slash = head.indexOf("/");
  if (slash < 0) return { group: "", resource: head === "masterleases" ? "apiserveripinfo" : head };
  return { group: head.slice(0, slash), resource: head.slice(slash + 1) };
}
