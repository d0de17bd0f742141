// `kubectl run`: today's, which makes a pod, and that of before 1.18, which made whatever keeps pods running
// (upstream: kubectl/pkg/cmd/run/run.go; docs/decisions/0251-kubectl-run.md).
import { command, type Invocation } from "../command.ts";
import { KubectlError, usageError } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { parseEnvironment, parseLabelPairs, parseResourceList } from "../generators/generated.ts";
import { imageBaseName, isImageReference } from "../generators/image-reference.ts";
import { overridden } from "../generators/overrides.ts";
import { serviceOfPod } from "../generators/services.ts";
import {
  cronJobOfPod,
  deploymentOfPod,
  jobOfPod,
  type PodArguments,
  podOf,
  replicationControllerOfPod,
} from "../generators/workloads.ts";
import { printFlags } from "../printers/output.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import {
  annotated,
  changeCauseAnnotation,
  dryRunFlag,
  fieldManagerFlag,
  filenameFlags,
  printObject,
  recordFlag,
  saveConfigFlag,
  withSavedConfig,
  writeSettings,
} from "../write-options.ts";
import { checkName } from "./check-name.ts";
import { commandLine } from "./command-line.ts";
import { inNamespace, sendGenerated } from "./create-generated.ts";
import { cascadeFlags, deletionOptions, propagationOf } from "./delete-flags.ts";
import { attachedFlags, followPod, removeMade } from "./run-attached.ts";

const runFlags = {
  ...printFlags,
  ...dryRunFlag,
  ...fieldManagerFlag("kubectl-run"),
  ...recordFlag,
  ...saveConfigFlag,
  ...filenameFlags,
  ...cascadeFlags,
  ...attachedFlags,
  wait: { type: "bool", help: "With --rm, wait until the pod is gone." },
  annotations: { type: "stringArray", help: "Annotation of the pod, as key=value; can be repeated." },
  command: { type: "bool", help: "The arguments are the command of the container, not arguments of the image's." },
  env: { type: "stringArray", help: "Environment variable of the container, as NAME=value; can be repeated." },
  expose: { type: "bool", help: "Create a ClusterIP service for the pod, too. Needs --port." },
  generator: {
    type: "string",
    help: "What to make: run-pod/v1, deployment/apps.v1, job/v1, cronjob/v1 or run/v1.",
  },
  image: { type: "string", help: "The image to run." },
  "image-pull-policy": { type: "string", help: "When to pull the image; the server decides if left empty." },
  labels: { type: "string", short: "l", help: "Labels of the pod, as a=b,c=d." },
  limits: { type: "string", help: "Limits of the container, as cpu=200m,memory=512Mi." },
  "override-type": { type: "string", default: "merge", help: "How --overrides is applied: json, merge or strategic." },
  overrides: { type: "string", help: "JSON that is put over the object that was made." },
  port: { type: "string", help: "Port that the container listens on." },
  privileged: { type: "bool", help: "Run the container in privileged mode." },
  replicas: { type: "int", default: 1, short: "r", help: "Pods that should run." },
  requests: { type: "string", help: "What the container asks for, as cpu=100m,memory=256Mi." },
  restart: {
    type: "string",
    default: "Always",
    help: "When containers are started again: Always, OnFailure or Never.",
  },
  "restart-policy": { type: "string", help: "The same as --restart.", isHidden: true },
  schedule: { type: "string", help: "Makes a cron job that runs at these times." },
  serviceaccount: { type: "string", help: "Service account of the pod." },
} as const satisfies FlagDeclarations;
type RunFlags = ParsedFlags<typeof runFlags>;

/** Flags that only the run of before 1.18 had, and that mean what they meant then. */
const oldFlags = ["replicas", "generator", "schedule", "restart-policy", "limits", "requests", "serviceaccount"];

export const run = command({
  use: "run [NAME] --image=image [--env=KEY=value] [--port=port] [--replicas=count] [--dry-run=server|client] [--overrides=json] [--command] -- [COMMAND] [args...]",
  long: "Run an image in a pod. With --replicas, --schedule or --generator, or without a name, make what keeps such pods running: a deployment, a job or a cron job.",
  examples: `  # Three pods of nginx, kept running by a deployment
  kubectl run --image=nginx --replicas=3

  # One pod
  kubectl run nginx --image=nginx

  # Print the pod without creating it
  kubectl run nginx --image=nginx --dry-run=client -o yaml`,
  flags: runFlags,
  run: async (session, args, flags, invocation) => {
    const { name, command: words } = namedArguments(args, flags, invocation);
    checkAttached(flags, invocation);
    const isOld = name === undefined || oldFlags.some((flag) => invocation.changed.has(flag));
    const request = podRequest(name ?? imageBaseName(flags.image), words, flags, invocation);
    checkName(request.name, "Pod");
    const generator = isOld ? generatorOf(flags, request) : "run-pod/v1";
    if (isOld)
      session.printError(
        `note: this is the kubectl run of before 1.18: ${generator} makes ${madeBy(generator)}; see kubectl create`,
      );
    await createAll(session, flags, invocation, { request, object: generate(generator, request, flags) });
  },
});

interface RunObjects {
  readonly request: PodArguments;
  readonly object: KubeObject;
}

async function createAll(
  session: Session,
  flags: RunFlags,
  invocation: Invocation<typeof runFlags>,
  { request, object }: RunObjects,
): Promise<void> {
  const settings = writeSettings(session, flags, "created");
  const changed = overridden(object, flags.overrides, flags["override-type"]);
  const cause = flags.record ? annotated(changed, changeCauseAnnotation, commandLine(invocation)) : changed;
  const objects = [withSavedConfig(await inNamespace(session, cause), flags["save-config"])];
  if (flags.expose)
    objects.push(
      await inNamespace(session, serviceOfPod(request.name, flags.port, parseLabelPairs(flags.labels), request.labels)),
    );
  const created: KubeObject[] = [];
  for (const one of objects) created.push(await sendGenerated(session, settings, one));
  if (isAttached(flags, invocation)) return follow(session, flags, request, created);
  for (const one of created.toReversed()) printObject(session, settings.printer, one);
}

/** To be typed into is to be attached to. */
const isAttached = ({ attach, stdin }: RunFlags, { changed }: Invocation<typeof runFlags>): boolean =>
  changed.has("attach") ? attach : stdin;

async function follow(
  session: Session,
  flags: RunFlags,
  { leaveStdinOpen, restartPolicy }: PodArguments,
  created: readonly KubeObject[],
): Promise<void> {
  const { stdin, tty, quiet, rm, cascade, "grace-period": grace, "detach-keys": detachKeys } = flags;
  const [object] = created;
  if (!object) return;
  const timeoutMs = Number(flags["pod-running-timeout"]) / 1e6;
  try {
    await followPod(session, { object, stdin, tty, quiet, detachKeys, leaveStdinOpen, restartPolicy, timeoutMs });
  } finally {
    if (rm) await removeMade(session, created, deletionOptions(grace, propagationOf(session, cascade)), quiet);
  }
}

/** Throws KubectlError for flags that make no sense together. */
function checkAttached(flags: RunFlags, invocation: Invocation<typeof runFlags>): void {
  const { commandPath } = invocation;
  if (flags.tty && !flags.stdin)
    throw usageError("-i/--stdin is required for containers with -t/--tty=true", commandPath);
  const attaches = isAttached(flags, invocation);
  if (flags.rm && !attaches) throw usageError("--rm should only be used for attached containers", commandPath);
  if (attaches && flags["dry-run"] !== "none")
    throw usageError(
      "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
      commandPath,
    );
}

/** The name, and the command of the container. Throws KubectlError. */
function namedArguments(
  args: readonly string[],
  flags: RunFlags,
  { dash, commandPath }: Invocation<typeof runFlags>,
): { readonly name: string | undefined; readonly command: readonly string[] } {
  if (dash > 1) throw usageError("NAME is required for run", commandPath);
  if (flags.image === "") throw new KubectlError('required flag(s) "image" not set');
  if (!isImageReference(flags.image))
    throw new KubectlError(`Invalid image name ${JSON.stringify(flags.image)}: invalid reference format`);
  const name = dash === 0 ? undefined : args[0];
  if (flags.expose && flags.port === "") throw usageError("--port must be set when exposing a service", commandPath);
  return { name, command: dash === 0 ? args : args.slice(1) };
}

function podRequest(
  name: string,
  args: readonly string[],
  flags: RunFlags,
  { changed, commandPath }: Invocation<typeof runFlags>,
): PodArguments {
  const restart = changed.has("restart-policy") ? flags["restart-policy"] : flags.restart;
  if (restart !== "Always" && restart !== "OnFailure" && restart !== "Never")
    throw usageError(`invalid restart policy: ${restart}`, commandPath);
  if (flags.port !== "" && !/^\d+$/.test(flags.port))
    throw new KubectlError(`strconv.Atoi: parsing ${JSON.stringify(flags.port)}: invalid syntax`);
  const labels = parseLabelPairs(flags.labels);
  return {
    name,
    image: flags.image,
    labels: Object.keys(labels).length === 0 ? { run: name } : labels,
    annotations: Object.assign({}, ...flags.annotations.map(parseLabelPairs)),
    args,
    isCommand: flags.command,
    env: parseEnvironment(flags.env),
    port: flags.port,
    imagePullPolicy: flags["image-pull-policy"],
    stdin: flags.stdin,
    tty: flags.tty,
    leaveStdinOpen: flags["leave-stdin-open"],
    privileged: flags.privileged,
    restartPolicy: restart,
    serviceAccount: flags.serviceaccount,
    limits: parseResourceList(flags.limits),
    requests: parseResourceList(flags.requests),
  };
}

const made: Readonly<Record<string, string>> = {
  "run-pod/v1": "a pod",
  "run/v1": "a replication controller",
  "deployment/apps.v1": "a deployment",
  "deployment/apps.v1beta1": "a deployment",
  "deployment/v1beta1": "a deployment",
  "job/v1": "a job",
  "cronjob/v1": "a cron job",
  "cronjob/v1beta1": "a cron job",
  "cronjob/v2alpha1": "a cron job",
};
const madeBy = (generator: string): string => made[generator] ?? "";

/** What the flags of before 1.18 mean. Throws KubectlError. */
function generatorOf(flags: RunFlags, { restartPolicy }: PodArguments): string {
  if (flags.generator !== "" && !Object.hasOwn(made, flags.generator))
    throw new KubectlError(`generator ${JSON.stringify(flags.generator)} not found`);
  if (flags.replicas < 0) throw new KubectlError(`--replicas must not be negative, found ${flags.replicas}`);
  if (flags.replicas !== 1 && restartPolicy !== "Always")
    throw new KubectlError(`--restart=${restartPolicy} requires that --replicas=1, found ${flags.replicas}`);
  if (flags.generator !== "") return flags.generator;
  if (flags.schedule !== "") return "cronjob/v1";
  if (restartPolicy === "Always") return "deployment/apps.v1";
  return restartPolicy === "OnFailure" ? "job/v1" : "run-pod/v1";
}

function generate(generator: string, request: PodArguments, flags: RunFlags): KubeObject {
  // A job ends when its pods do, so they cannot be started again for ever.
  const ending: PodArguments =
    request.restartPolicy === "Always" ? { ...request, restartPolicy: "OnFailure" } : request;
  switch (generator.split("/")[0]) {
    case "deployment":
      return deploymentOfPod(request, flags.replicas);
    case "run":
      return replicationControllerOfPod(request, flags.replicas);
    case "job":
      return jobOfPod(ending);
    case "cronjob":
      if (flags.schedule === "") throw new KubectlError("--schedule is required for a cron job");
      return cronJobOfPod(ending, flags.schedule);
    default:
      return podOf(request);
  }
}
