// Upstream: kubectl/pkg/cmd/rollout/rollout_history.go.
import { command } from "../command.ts";
import { podTemplateText } from "../describe/pod-template.ts";
import { KubectlError } from "../errors.ts";
import { outputPrinter, printFlags } from "../printers/output.ts";
import { metadataOf } from "../resources/resource-info.ts";
import { describeColumns, tableText } from "../tab-writer.ts";
import { requireRevisions, type WorkloadRevision, workloadHistory } from "../workloads/revisions.ts";
import { changeCauseAnnotation, printObject } from "../write-options.ts";
import { rolloutQuery, rolloutSelectionFlags } from "./rollout-selection.ts";

export const rolloutHistory = command({
  use: "history (TYPE NAME | TYPE/NAME) [flags]",
  long: "List the revisions of a deployment, daemon set or stateful set, or show the pods of one of them.",
  examples: `  # All revisions of a deployment
  kubectl rollout history deployment/web

  # The pods of revision 3 of a daemon set
  kubectl rollout history daemonset/agent --revision=3`,
  flags: {
    ...printFlags,
    ...rolloutSelectionFlags,
    revision: { type: "int", help: "Show what pods are like in this revision." },
  },
  run: async (session, args, flags) => {
    if (args.length === 0 && flags.filename.length === 0 && flags.kustomize === "")
      throw new KubectlError("required resource not specified");
    if (flags.revision < 0) throw new KubectlError(`revision must be a positive integer: ${flags.revision}`);
    const query = await rolloutQuery(session, args, flags);
    const client = await session.client();
    const isFormatted = flags.output !== "" || flags.template !== "";
    await query.visit(async (info) => {
      requireRevisions(info, "history");
      const { revisions } = await workloadHistory(client, info);
      const chosen = flags.revision > 0 ? revisions.filter(({ number }) => number === flags.revision) : revisions;
      if (flags.revision > 0 && chosen.length === 0 && (isFormatted || revisions.length > 0))
        throw new KubectlError("unable to find the specified revision");
      if (isFormatted) {
        const printer = outputPrinter(flags, { operation: "", cwd: session.io.cwd });
        for (const { object } of chosen) printObject(session, printer, object);
        return;
      }
      const which = flags.revision > 0 ? `with revision #${flags.revision}` : "";
      const operation = `${which}\n${historyText(chosen, flags.revision > 0)}`;
      printObject(session, outputPrinter(flags, { operation, cwd: session.io.cwd }), info.object ?? {});
    });
  },
});

function historyText(revisions: readonly WorkloadRevision[], isDetailed: boolean): string {
  const last = revisions.at(-1);
  if (!last) return "No rollout history found.";
  if (isDetailed) return podTemplateText(withChangeCause(last));
  const rows = revisions.map(({ number, changeCause }) => [String(number), changeCause || "<none>"]);
  return tableText([["REVISION", "CHANGE-CAUSE"], ...rows], describeColumns);
}

/** Of a ReplicaSet the cause is shown with the pods it belongs to. */
function withChangeCause({ template, object, changeCause }: WorkloadRevision): object {
  if (object.kind !== "ReplicaSet" || changeCause === "") return template;
  const metadata = metadataOf(template);
  const annotations = { ...(metadata.annotations as object | undefined), [changeCauseAnnotation]: changeCause };
  return { ...template, metadata: { ...metadata, annotations } };
}
