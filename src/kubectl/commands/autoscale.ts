// Upstream: kubectl/pkg/cmd/autoscale/autoscale.go.
import { command } from "../command.ts";
import { apiVersionOf } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
import { filled } from "../generators/generated.ts";
import type { ResourceInfo } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import {
  fieldManagerFlag,
  filenameFlags,
  printObject,
  recordFlag,
  saveConfigFlag,
  withSavedConfig,
  writeSettings,
  writtenFlags,
} from "../write-options.ts";
import { inNamespace, sendGenerated } from "./create-generated.ts";

export const autoscale = command({
  use: "autoscale (-f FILENAME | TYPE NAME | TYPE/NAME) [--min=MINPODS] --max=MAXPODS [--cpu=CPU] [--memory=MEMORY]",
  long: "Make an autoscaler that keeps the number of pods between two bounds.",
  flags: {
    ...writtenFlags,
    ...filenameFlags,
    ...recordFlag,
    ...saveConfigFlag,
    ...fieldManagerFlag("kubectl-autoscale"),
    cpu: { type: "string", help: "CPU to aim at: a percentage of what is requested, or an amount." },
    "cpu-percent": {
      type: "int",
      default: -1,
      help: "Percentage of the requested CPU to aim at.",
      deprecated:
        "Use --cpu with percentage or resource quantity format (e.g., '70%' for utilization or '500m' for milliCPU).",
    },
    max: { type: "int", default: -1, help: "Most pods." },
    memory: { type: "string", help: "Memory to aim at: a percentage of what is requested, or an amount." },
    min: { type: "int", default: -1, help: "Least pods." },
    name: { type: "string", help: "The name of the autoscaler." },
  },
  run: async (session, args, flags, { changed }) => {
    if (!changed.has("max")) throw new KubectlError('required flag(s) "max" not set');
    const { min, max, cpu, memory, "cpu-percent": cpuPercent } = flags;
    if (max < 1) throw new KubectlError(`--max=MAXPODS is required and must be at least 1, max: ${max}`);
    if (max < min)
      throw new KubectlError(`--max=MAXPODS must be larger or equal to --min=MINPODS, max: ${max}, min: ${min}`);
    if (cpuPercent > 0 && cpu !== "") throw new KubectlError("--cpu-percent and --cpu are mutually exclusive");
    const metrics = [
      ...(cpuPercent > 0 ? [metric("cpu", { averageUtilization: cpuPercent, type: "Utilization" })] : []),
      ...(cpu === "" ? [] : [metric("cpu", target(cpu, "cpu"))]),
      ...(memory === "" ? [] : [metric("memory", target(memory, "memory"))]),
    ];
    const settings = writeSettings(session, flags, "autoscaled");
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      args,
      continueOnError: true,
      flatten: true,
    });
    let count = 0;
    await query.visit(async (info) => {
      count++;
      const object = autoscalerFor(info, flags.name || info.name, { min, max, metrics });
      const placed = withSavedConfig(await inNamespace(session, object), flags["save-config"]);
      printObject(session, settings.printer, await sendGenerated(session, settings, placed));
    });
    if (count === 0) throw new KubectlError("no objects passed to autoscale");
  },
});

const scalable = ["ReplicationController.", "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps"];

interface AutoscalerBounds {
  readonly min: number;
  readonly max: number;
  readonly metrics: readonly KubeObject[];
}

function autoscalerFor(
  { mapping, name: of }: ResourceInfo,
  name: string,
  { min, max, metrics }: AutoscalerBounds,
): KubeObject {
  if (!mapping || !scalable.includes(`${mapping.kind}.${mapping.group}`))
    throw new KubectlError(
      `cannot autoscale a ${mapping?.kind}${mapping?.group ? `.${mapping.group}` : ""}: could not find scale subresource for ${mapping?.group ?? ""}/${mapping?.version}, Resource=${mapping?.resource} in discovery information`,
    );
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name },
    spec: {
      maxReplicas: max,
      ...filled("metrics", metrics),
      ...(min > 0 && { minReplicas: min }),
      scaleTargetRef: { apiVersion: apiVersionOf(mapping), kind: mapping.kind, name: of },
    },
    status: { currentMetrics: null, desiredReplicas: 0 },
  };
}

const metric = (name: string, aim: KubeObject): KubeObject => ({ resource: { name, target: aim }, type: "Resource" });

/** A percentage of what pods request, or an average amount. */
function target(text: string, resource: string): KubeObject {
  const [, percent] = /^(\d+)%$/.exec(text) ?? [];
  if (percent !== undefined) return { averageUtilization: Number(percent), type: "Utilization" };
  if (!/^[0-9.]+[a-zA-Z]*$/.test(text)) throw new KubectlError(`invalid ${resource} resource value: ${text}`);
  return { averageValue: text, type: "AverageValue" };
}
