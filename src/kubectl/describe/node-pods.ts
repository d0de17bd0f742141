// What the pods of a node take of it.
import { type Amounts, amountOf, isHugePages } from "#api/core/v1/amounts.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { addQuantity, formatQuantity, parseQuantity, scaledValue } from "#schema/quantity.ts";
import { compareText } from "../go/value.ts";
import { ageText } from "./common.ts";
import type { DescriptionWriter } from "./description-writer.ts";

const everywhere = ["cpu", "memory", "ephemeral-storage"] as const;
/** What Go makes of a part of nothing as an integer. */
const noPercentage = "-9223372036854775808";

export function writeNodePods(w: DescriptionWriter, { status }: Node, pods: readonly Pod[], now: number): void {
  const { capacity = {}, allocatable = {} } = status;
  const available = Object.keys(allocatable).length > 0 ? allocatable : capacity;
  const share = (amounts: ReadonlyMap<string, string>, name: string, ofNothing = noPercentage) =>
    `${amounts.get(name) ?? "0"} (${percentage(amounts.get(name), available, name, ofNothing)}%)`;
  w.line(0, "Non-terminated Pods:", `(${pods.length} in total)`);
  const heads = ["Namespace", "Name", "", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age"];
  w.line(1, ...heads);
  w.line(1, ...heads.map((head) => "-".repeat(head.length)));
  const requests = new Map<string, string>();
  const limits = new Map<string, string>();
  for (const pod of pods) {
    const asked = podAmounts(pod, "requests");
    const most = podAmounts(pod, "limits");
    addAll(requests, asked);
    addAll(limits, most);
    const { namespace, name, creationTimestamp } = pod.metadata;
    const cells = [share(asked, "cpu"), share(most, "cpu"), share(asked, "memory"), share(most, "memory")];
    w.line(1, namespace, name, "", ...cells, ageText(creationTimestamp, now));
  }
  w.line(0, "Allocated resources:");
  w.line(1, "(Total limits may be over 100 percent, i.e., overcommitted.)");
  w.line(1, "Resource", "Requests", "Limits");
  w.line(1, "--------", "--------", "------");
  const others = Object.keys(available).sort(compareText);
  for (const name of [...everywhere, ...others.filter(isHugePages)])
    w.line(1, name, share(requests, name, "0"), share(limits, name, "0"));
  for (const name of others)
    if (!isHugePages(name) && name !== "pods" && !everywhere.some((one) => one === name))
      w.line(1, name, requests.get(name) ?? "0", limits.get(name) ?? "0");
}

/** Of what the node has, without what is behind the comma. */
function percentage(amount = "0", available: Amounts, name: string, ofNothing: string): string {
  const scale = name === "cpu" ? -3 : 0;
  const whole = scaledValue(parseQuantity(amountOf(available, name) ?? "0"), scale);
  if (whole === 0n) return ofNothing;
  return String(Math.trunc((Number(scaledValue(parseQuantity(amount), scale)) / Number(whole)) * 100));
}

function addAll(total: Map<string, string>, more: ReadonlyMap<string, string>): void {
  for (const [name, amount] of more) {
    const present = total.get(name);
    const sum = present && formatQuantity(addQuantity(parseQuantity(present), parseQuantity(amount)));
    total.set(name, sum ?? amount);
  }
}
