// Upstream: kubectl/pkg/cmd/rollout/rollout_undo.go and kubectl/pkg/polymorphichelpers/rollback.go.
import { equal } from "#base/collections.ts";
import { command } from "../command.ts";
import { podTemplateText } from "../describe/pod-template.ts";
import { KubectlError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import { outputPrinter } from "../printers/output.ts";
import { infoPath, metadataOf, objectName, type ResourceInfo } from "../resources/resource-info.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import {
  requireRevisions,
  revisionAnnotation,
  type WorkloadHistory,
  type WorkloadRevision,
  workloadHistory,
} from "../workloads/revisions.ts";
import {
  type DryRun,
  dryRunOf,
  lastAppliedAnnotation,
  operationText,
  printObject,
  writtenFlags,
} from "../write-options.ts";
import { rolloutQuery, rolloutSelectionFlags } from "./rollout-selection.ts";

export const rolloutUndo = command({
  use: "undo (TYPE NAME | TYPE/NAME) [flags]",
  long: "Go back to an earlier revision of a deployment, daemon set or stateful set.",
  examples: `  # Back to the revision before the last change
  kubectl rollout undo deployment/web

  # Back to revision 3 of a daemon set
  kubectl rollout undo daemonset/agent --to-revision=3

  # Ask the server whether it would let this happen
  kubectl rollout undo deployment/web --dry-run=server`,
  flags: {
    ...writtenFlags,
    ...rolloutSelectionFlags,
    "to-revision": { type: "int", help: "The revision to go back to; 0 means the one before the latest." },
  },
  run: async (session, args, flags) => {
    const dryRun = dryRunOf(session, flags["dry-run"]);
    if (args.length === 0 && flags.filename.length === 0 && flags.kustomize === "")
      throw new KubectlError("required resource not specified");
    const query = await rolloutQuery(session, args, flags);
    const client = await session.client();
    await query.visit(async (info) => {
      if (Object.hasOwn(annotationsOf(info.object ?? {}), lastAppliedAnnotation))
        session.printError(
          `Warning: resource ${objectName(info)} was previously managed with 'kubectl apply'. Rolling back will not update the ${lastAppliedAnnotation} annotation, which may cause unexpected behavior on future 'kubectl apply' operations. Consider using 'kubectl apply' with your previous configuration file instead.`,
        );
      requireRevisions(info, "rollbacker");
      const result = await rolledBack(client, info, flags["to-revision"], dryRun);
      const operation = operationText(result, dryRun);
      printObject(session, outputPrinter(flags, { operation, cwd: session.io.cwd }), info.object ?? {});
    });
  },
});

/** What was done, in words. Throws KubectlError if there is nothing to go back to. */
async function rolledBack(client: RestClient, info: ResourceInfo, to: number, dryRun: DryRun): Promise<string> {
  if (to < 0) throw notInHistory(to);
  const history = await workloadHistory(client, info);
  const revision = revisionToRestore(history, to);
  const isDeployment = history.workload.kind === "Deployment";
  if (dryRun === "client") return `${isDeployment ? "" : "will roll back to "}${podTemplateText(revision.template)}`;
  if (isDeployment && specOf(history.workload).paused === true)
    throw new KubectlError(
      "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again",
    );
  if (equal(comparable(revision.template), comparable(specOf(history.workload).template as KubeObject)))
    return `skipped rollback (current template already matches revision ${to})`;
  const [contentType, patch] = isDeployment
    ? (["application/json-patch+json", deploymentPatch(history.workload, revision)] as const)
    : (["application/strategic-merge-patch+json", revision.record.data ?? {}] as const);
  const query = dryRun === "server" ? ([["dryRun", "All"]] as const) : [];
  await client
    .json({ method: "PATCH", path: infoPath(info), query, body: goJson(patch), contentType })
    .catch((cause: unknown) => {
      throw new KubectlError(`failed restoring revision ${to}: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      });
    });
  return "rolled back";
}

const notInHistory = (revision: number): KubectlError =>
  new KubectlError(`unable to find specified revision ${revision} in history`);

function revisionToRestore({ workload, revisions }: WorkloadHistory, to: number): WorkloadRevision {
  const found = to === 0 ? revisions.at(-2) : revisions.find(({ number }) => number === to);
  if (found) return found;
  if (to !== 0) throw notInHistory(to);
  throw new KubectlError(
    workload.kind === "Deployment"
      ? `no rollout history found for deployment ${JSON.stringify(metadataOf(workload).name)}`
      : "no last revision to roll back to",
  );
}

const specOf = (object: KubeObject): KubeObject => (object.spec ?? {}) as KubeObject;
const annotationsOf = (object: KubeObject): Readonly<Record<string, string>> =>
  (metadataOf(object).annotations ?? {}) as Readonly<Record<string, string>>;

const hashLabel = "pod-template-hash";

/** The template as a person wrote it: the controller marks those it copies. */
function comparable(template: KubeObject): KubeObject {
  const { labels, creationTimestamp: _, ...metadata } = metadataOf(template);
  const { [hashLabel]: __, ...others } = (labels ?? {}) as Readonly<Record<string, string>>;
  return {
    ...template,
    metadata: { ...metadata, ...(Object.keys(others).length > 0 && { labels: others }) },
  };
}

/** Annotations that belong to a deployment as it is, not to one of its revisions. */
const ownAnnotations = new Set([
  lastAppliedAnnotation,
  revisionAnnotation,
  "deployment.kubernetes.io/revision-history",
  "deployment.kubernetes.io/desired-replicas",
  "deployment.kubernetes.io/max-replicas",
  "deprecated.deployment.rollback.to",
]);

function deploymentPatch(deployment: KubeObject, { record, template }: WorkloadRevision): readonly object[] {
  const kept = Object.entries(annotationsOf(deployment)).filter(([key]) => ownAnnotations.has(key));
  const restored = Object.entries(annotationsOf(record)).filter(([key]) => !ownAnnotations.has(key));
  return [
    { op: "replace", path: "/spec/template", value: comparable(template) },
    { op: "replace", path: "/metadata/annotations", value: Object.fromEntries([...kept, ...restored]) },
  ];
}
