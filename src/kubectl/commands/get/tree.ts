// `get --tree`: objects with what they own below them. Kubernetes keeps owners in the objects that are owned, so all of a namespace is
// looked through; only metadata is asked for.
import { humanDuration } from "#base/duration.ts";
import { isObject } from "#base/is-object.ts";
import type { RestMapping } from "../../discovery/rest-mapper.ts";
import { KubectlError } from "../../errors.ts";
import { metadataOf, printedName, resourcePath, stringIn } from "../../resources/resource-info.ts";
import { ResourceQuery, type ResourceQueryOptions } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { tableText } from "../../tab-writer.ts";
import { statusOf } from "../../workloads/pods.ts";

interface TreeNode {
  readonly uid: string;
  readonly name: string;
  readonly owners: readonly string[];
  readonly object: KubeObject;
}

const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/** So many lists are asked for at once. */
const lanes = 6;

/** Prints the objects that are asked for, each with all it owns. */
export async function printTree(session: Session, options: ResourceQueryOptions): Promise<void> {
  const { accept: _, query: __, ...plain } = options;
  const query = await ResourceQuery.of(session, plain);
  const roots = (await query.infos()).flatMap(({ object, mapping }) =>
    object && mapping ? [nodeOf(object, mapping)] : [],
  );
  if (roots.length === 0) {
    session.printError(`No resources found in ${await session.namespace()} namespace.`);
    return;
  }
  const namespaces = new Set(roots.map(({ object }) => stringIn(metadataOf(object).namespace)));
  const found = (await Promise.all([...namespaces].map((namespace) => ownedIn(session, namespace)))).flat();
  const children = Map.groupBy(
    found.flatMap((node) => node.owners.map((owner) => ({ owner, node }))),
    ({ owner }) => owner,
  );
  const childrenOf = (uid: string) =>
    (children.get(uid) ?? []).map(({ node }) => node).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  // What is owned by another of those asked for is shown there.
  const owned = new Set(roots.flatMap(({ uid }) => childrenOf(uid).map((node) => node.uid)));
  const rows = roots
    .filter(({ uid }) => !owned.has(uid))
    .flatMap((root) => treeRows(root, "", "", childrenOf, new Set(), session.io.clock.now()));
  session.io.stdout.write(tableText([["NAME", "READY", "STATUS", "AGE"], ...rows]));
}

const nodeOf = (object: KubeObject, mapping: RestMapping): TreeNode => {
  const { uid, name, ownerReferences } = metadataOf(object);
  const owners = (Array.isArray(ownerReferences) ? ownerReferences : [])
    .filter(isObject)
    .map((one) => stringIn(one.uid));
  return { uid: stringIn(uid), name: printedName(mapping, stringIn(name)), owners, object };
};

/** Everything in a namespace that has an owner. What may not be listed is left out. */
async function ownedIn(session: Session, namespace: string): Promise<readonly TreeNode[]> {
  const mappings = (await (await session.mapper()).all()).filter(
    ({ isNamespaced, verbs, resource, group }) =>
      isNamespaced &&
      verbs.includes("list") &&
      !["events", "endpoints"].includes(resource) &&
      group !== "metrics.k8s.io",
  );
  const waiting = [...new Map(mappings.map((one) => [`${one.group}/${one.resource}`, one])).values()];
  const found: TreeNode[] = [];
  const client = await session.client();
  const lane = async () => {
    for (let mapping = waiting.shift(); mapping; mapping = waiting.shift()) {
      const isPods = mapping.resource === "pods" && mapping.group === "";
      try {
        const { items } = await client.json({
          path: resourcePath(mapping, namespace),
          ...(!isPods && { accept: metadataOnly }),
        });
        for (const item of Array.isArray(items) ? items.filter(isObject) : [])
          found.push(nodeOf(item as KubeObject, mapping));
      } catch (error) {
        if (session.io.signal.aborted || !(error instanceof Error)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return found.filter(({ owners }) => owners.length > 0);
}

function treeRows(
  node: TreeNode,
  first: string,
  rest: string,
  childrenOf: (uid: string) => readonly TreeNode[],
  above: ReadonlySet<string>,
  now: number,
): readonly (readonly string[])[] {
  // Owners can be written by hand, and in a circle.
  const below = above.has(node.uid) ? [] : childrenOf(node.uid);
  const seen = new Set([...above, node.uid]);
  return [
    [`${first}${node.name}`, ...stateOf(node.object), ageOf(node.object, now)],
    ...below.flatMap((child, i) => {
      const isLast = i === below.length - 1;
      return treeRows(child, `${rest}${isLast ? "└─" : "├─"}`, `${rest}${isLast ? "  " : "│ "}`, childrenOf, seen, now);
    }),
  ];
}

function stateOf(object: KubeObject): readonly string[] {
  const { phase, containerStatuses, replicas, readyReplicas } = statusOf(object);
  if (typeof replicas === "number") return [`${readyReplicas ?? 0}/${replicas}`, ""];
  const containers = Array.isArray(containerStatuses) ? containerStatuses.filter(isObject) : [];
  if (containers.length === 0) return ["", stringIn(phase)];
  return [`${containers.filter(({ ready }) => ready === true).length}/${containers.length}`, stringIn(phase)];
}

function ageOf(object: KubeObject, now: number): string {
  const made = Date.parse(stringIn(metadataOf(object).creationTimestamp));
  return Number.isNaN(made) ? "<unknown>" : humanDuration(Math.max(0, now - made));
}

/** What a tree cannot be combined with. Throws KubectlError. */
export function checkTree(flags: {
  readonly output: string;
  readonly watch: boolean;
  readonly "watch-only": boolean;
}): void {
  if (flags.output !== "") throw new KubectlError("--tree and --output cannot be specified together");
  if (flags.watch || flags["watch-only"]) throw new KubectlError("--tree and --watch cannot be specified together");
}
