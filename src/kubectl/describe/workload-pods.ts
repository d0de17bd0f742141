// How the pods of a workload are.
import type { Pod } from "#api/core/v1/pod.ts";
import { controllerOf } from "#rules/owners.ts";
import type { SelectorStruct } from "#schema/selector.ts";
import { podMapping } from "../workloads/pods.ts";
import { selectorText } from "./common.ts";
import { type DescribeContext, listAll } from "./describer.ts";

interface Workload {
  readonly metadata: { readonly namespace?: string | undefined; readonly uid?: string | undefined };
  readonly spec: { readonly selector?: SelectorStruct | undefined };
}

/** `1 Running / 0 Waiting / …`: of the pods it selects, those that are its own. Rejects with ApiError. */
export async function podsStatus(context: DescribeContext, { metadata, spec }: Workload): Promise<string> {
  const labelSelector = selectorText(spec.selector);
  const pods = await listAll<Pod>(context, podMapping, metadata.namespace ?? "", { labelSelector });
  const own = pods.filter((pod) => controllerOf(pod)?.uid === metadata.uid);
  const count = (phase: string) => own.filter(({ status }) => status.phase === phase).length;
  return `${count("Running")} Running / ${count("Pending")} Waiting / ${count("Succeeded")} Succeeded / ${count("Failed")} Failed`;
}
