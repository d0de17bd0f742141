// Upstream: kubectl/pkg/cmd/top/top_pod.go.
import { command } from "../../command.ts";
import { KubectlError, usageError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import type { Query } from "../../rest/request.ts";
import type { Session } from "../../session.ts";
import { tableText } from "../../tab-writer.ts";
import { podMapping } from "../../workloads/pods.ts";
import {
  checkSortBy,
  itemsIn,
  type Measured,
  metricsOf,
  type PodUsage,
  podUsage,
  selectorsQuery,
  sortedUsages,
  sumOf,
  type Usage,
  usageText,
} from "./metrics.ts";

const use = "pod [NAME | -l label]";
/** So long it may take until there are metrics of a new pod. */
const metricsDelayMs = 120_000;

export const topPod = command({
  use,
  long: "Show how much processor time and memory pods use. It may take some minutes until there are figures of a new pod.",
  examples: `# Pods of a namespace
kubectl top pod -n shop

# The containers of a pod
kubectl top pod web --containers

# Pods with a label, and all together
kubectl top pod -l app=web --sum`,
  flags: {
    "all-namespaces": { type: "bool", short: "A", help: "Pods of all namespaces." },
    containers: { type: "bool", help: "Show each container." },
    "field-selector": { type: "string", help: "Only pods with fields like this." },
    "no-headers": { type: "bool", help: "Print no line of names above the columns." },
    selector: { type: "string", short: "l", help: "Only pods with labels like this." },
    "show-swap": { type: "bool", help: "Show swap memory, too." },
    "sort-by": { type: "string", help: "Sort by cpu or memory." },
    sum: { type: "bool", help: "Print what all use together." },
    "use-protocol-buffers": { type: "bool", default: true, help: "Ask in another encoding; the answer is the same." },
  },
  async run(session, args, flags, { commandPath }) {
    if (args.length > 1) throw usageError(use, commandPath);
    const [name = ""] = args;
    checkSortBy(flags["sort-by"]);
    if (name !== "" && (flags.selector !== "" || flags["field-selector"] !== ""))
      throw new KubectlError("only one of NAME or selector can be provided");
    const own = await session.namespace();
    const isAll = flags["all-namespaces"];
    const query = selectorsQuery(flags.selector, flags["field-selector"]);
    const pods = (await metricsOf(session, "pods", { namespace: isAll ? "" : own, name, query })).map(podUsage);
    if (pods.length === 0) {
      await explainNothing(session, own, name, query);
      session.printError(isAll ? "No resources found" : `No resources found in ${own} namespace.`);
      return;
    }
    session.io.stdout.write(podTable(pods, flags));
  },
});

interface TopPodFlags {
  readonly "all-namespaces": boolean;
  readonly containers: boolean;
  readonly "no-headers": boolean;
  readonly "show-swap": boolean;
  readonly "sort-by": string;
  readonly sum: boolean;
}

export function podTable(pods: readonly PodUsage[], flags: TopPodFlags): string {
  const measured: readonly Measured[] = ["cpu", "memory", ...(flags["show-swap"] ? (["swap"] as const) : [])];
  const usages = (usage: Usage) => measured.map((what) => usageText(what, usage[what]));
  const head = [
    ...(flags["all-namespaces"] ? ["NAMESPACE"] : []),
    ...(flags.containers ? ["POD"] : []),
    ...["NAME", "CPU(cores)", "MEMORY(bytes)", ...(flags["show-swap"] ? ["SWAP(bytes)"] : [])],
  ];
  const rows = sortedUsages(pods, flags["sort-by"], flags["all-namespaces"]).flatMap((pod) => {
    const place = flags["all-namespaces"] ? [pod.namespace] : [];
    if (!flags.containers) return [[...place, pod.name, ...usages(pod.usage)]];
    return sortedUsages(pod.containers, flags["sort-by"]).map((one) => [
      ...place,
      pod.name,
      one.name,
      ...usages(one.usage),
    ]);
  });
  const width = flags["no-headers"]
    ? head.length - Number(flags["all-namespaces"]) - Number(flags.containers)
    : head.length;
  const blanks = (count: number) => Array.from({ length: count }, () => "");
  const sums = flags.sum
    ? [
        [...blanks(width - 2), "________", "________"],
        [...blanks(width - 3), "", ...usages(sumOf(pods.map(({ usage }) => usage)))],
      ]
    : [];
  // Every cell is followed by a tab, the last one too.
  return tableText([...(flags["no-headers"] ? [] : [head]), ...rows, ...sums].map((row) => [...row, ""]));
}

/** Rejects with KubectlError if there are pods that should have metrics. */
async function explainNothing(session: Session, namespace: string, name: string, query: Query): Promise<void> {
  const client = await session.client();
  const answer = await client.json({ path: resourcePath(podMapping, namespace, name), query });
  const pods = name === "" ? itemsIn(answer) : [answer];
  if (pods.length === 0) return;
  for (const pod of pods) {
    const { creationTimestamp, namespace: place, name: own } = metadataOf(pod);
    const ageMs = session.io.clock.now() - Date.parse(stringIn(creationTimestamp));
    if (ageMs > metricsDelayMs)
      throw new KubectlError(`Metrics not available for pod ${place}/${own}, age: ${ageMs / 1000}s`);
  }
  throw new KubectlError("metrics not available yet");
}
