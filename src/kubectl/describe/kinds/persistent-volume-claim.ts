import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { compareText } from "../../go/value.ts";
import { podMapping } from "../../workloads/pods.ts";
import { writeClaim } from "../claims.ts";
import { timeText, writeEvents } from "../common.ts";
import { type Describer, eventsOf, listAll, subjectOf } from "../describer.ts";

export const describePersistentVolumeClaim: Describer<PersistentVolumeClaim> = async (claim, context, w) => {
  const pods = await listAll<Pod>(context, podMapping, claim.metadata.namespace ?? "");
  const events = await eventsOf(context, subjectOf({ ...claim }));
  writeClaim(w, claim, context.now);
  w.list("Used By", podsUsing(claim, pods));
  const { conditions = [] } = claim.status;
  if (conditions.length > 0) {
    w.line(0, "Conditions:");
    w.line(1, "Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message");
    w.line(1, "----", "------", "-----------------", "------------------", "------", "-------");
  }
  for (const { type, status, lastProbeTime, lastTransitionTime, reason = "", message = "" } of conditions)
    w.line(
      1,
      `${type} `,
      `${status} `,
      `${timeText(lastProbeTime)} `,
      `${timeText(lastTransitionTime)} `,
      `${reason} `,
      message,
    );
  writeEvents(w, events, context.now);
};

/** Those with a volume of it, once for each, and those that own it because it was made for them. */
function podsUsing({ metadata }: PersistentVolumeClaim, pods: readonly Pod[]): readonly string[] {
  const using = pods.flatMap((pod) =>
    (pod.spec.volumes ?? []).flatMap((volume) =>
      volume.persistentVolumeClaim?.claimName === metadata.name ? [pod] : [],
    ),
  );
  const owners = new Set((metadata.ownerReferences ?? []).filter(({ kind }) => kind === "Pod").map(({ uid }) => uid));
  const owning = pods.filter((pod) => owners.has(pod.metadata.uid ?? "") && !using.includes(pod));
  return [...using, ...owning].map(({ metadata }) => metadata.name ?? "").sort(compareText);
}
