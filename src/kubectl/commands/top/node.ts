// Upstream: kubectl/pkg/cmd/top/top_node.go.
import { isObject } from "#base/is-object.ts";
import { quantityOf } from "#schema/quantity.ts";
import { command } from "../../command.ts";
import { KubectlError, usageError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import { tableText } from "../../tab-writer.ts";
import { statusOf } from "../../workloads/pods.ts";
import {
  checkSortBy,
  itemsIn,
  type Measured,
  metricsOf,
  nodeUsage,
  percentText,
  selectorsQuery,
  sortedUsages,
  type Usage,
  usageIn,
  usageText,
} from "./metrics.ts";

const use = "node [NAME | -l label]";
const nodeMapping = { group: "", version: "v1", resource: "nodes", isNamespaced: false };

export const topNode = command({
  use,
  long: "Show how much processor time and memory nodes use.",
  examples: `# All nodes
kubectl top node

# One node
kubectl top node worker-1`,
  flags: {
    "no-headers": { type: "bool", help: "Print no line of names above the columns." },
    selector: { type: "string", short: "l", help: "Only nodes with labels like this." },
    "show-capacity": { type: "bool", help: "Compare with what nodes have, not with what pods may use of it." },
    "show-swap": { type: "bool", help: "Show swap memory, too." },
    "sort-by": { type: "string", help: "Sort by cpu or memory." },
    "use-protocol-buffers": { type: "bool", default: true, help: "Ask in another encoding; the answer is the same." },
  },
  async run(session, args, flags, { commandPath }) {
    if (args.length > 1) throw usageError(use, commandPath);
    const [name = ""] = args;
    checkSortBy(flags["sort-by"]);
    if (name !== "" && flags.selector !== "") throw new KubectlError("only one of NAME or --selector can be provided");
    const query = selectorsQuery(flags.selector);
    const metrics = (await metricsOf(session, "nodes", { name, query })).map(nodeUsage);
    if (metrics.length === 0) throw new KubectlError("metrics not available yet");
    const client = await session.client();
    const answer = await client.json({ path: resourcePath(nodeMapping, "", name), query });
    const available = new Map(
      (name === "" ? itemsIn(answer) : [answer]).map((node) => [
        stringIn(metadataOf(node).name),
        availableOn(node, flags["show-capacity"]),
      ]),
    );
    const measured: readonly Measured[] = ["cpu", "memory", ...(flags["show-swap"] ? (["swap"] as const) : [])];
    const rows = sortedUsages(metrics, flags["sort-by"]).map((one) => [
      one.name,
      ...measured.flatMap((what) => cells(what, one.usage, available.get(one.name))),
    ]);
    const known = new Set(metrics.map((one) => one.name));
    const silent = [...available.keys()].filter((node) => !known.has(node));
    for (const node of silent) rows.push([node, ...measured.flatMap(() => ["<unknown>", "<unknown>"])]);
    const swap = flags["show-swap"] ? ["SWAP(bytes)", "SWAP(%)"] : [];
    const head = ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)", ...swap];
    // Every cell is followed by a tab, the last one too.
    session.io.stdout.write(tableText((flags["no-headers"] ? rows : [head, ...rows]).map((row) => [...row, ""])));
  },
});

function availableOn(node: KubeObject, isCapacity: boolean): Usage {
  const { allocatable, capacity, nodeInfo } = statusOf(node);
  const swap = isObject(nodeInfo) && isObject(nodeInfo.swap) ? nodeInfo.swap.capacity : undefined;
  const { swap: _, ...found } = usageIn(isCapacity ? capacity : allocatable);
  return { ...found, ...(typeof swap === "number" && { swap: quantityOf(swap, "BinarySI") }) };
}

function cells(what: Measured, usage: Usage, available: Usage | undefined): readonly string[] {
  const whole = available?.[what];
  if (what === "swap" && available && !whole) return ["<unknown>", "<unknown>"];
  return [usageText(what, usage[what]), ...(whole ? [percentText(usage[what], whole)] : [])];
}
