// Pods, and what runs them (upstream: kubectl/pkg/cmd/create and the generators that kubectl run had until 1.18).
import type { Random } from "#base/random.ts";
import type { KubeObject } from "../rest/client.ts";
import { filled } from "./generated.ts";
import { imageBaseName } from "./image-reference.ts";

export interface PodArguments {
  readonly name: string;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  /** The arguments are the command itself, not arguments of the image's. */
  readonly isCommand: boolean;
  readonly env: readonly KubeObject[];
  readonly port: string;
  readonly imagePullPolicy: string;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly leaveStdinOpen: boolean;
  readonly privileged: boolean;
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  readonly serviceAccount: string;
  readonly limits: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, string>>;
}

export function podSpec(request: PodArguments): KubeObject {
  const { name, image, args, isCommand, env, port, stdin, tty, privileged } = request;
  const container = {
    ...(isCommand ? filled("command", args) : filled("args", args)),
    ...filled("env", env),
    image,
    ...filled("imagePullPolicy", request.imagePullPolicy),
    name,
    ...(port !== "" && { ports: [{ containerPort: Number(port) }] }),
    resources: { ...filled("limits", request.limits), ...filled("requests", request.requests) },
    ...(privileged && { securityContext: { privileged: true } }),
    ...(stdin && { stdin: true }),
    ...(stdin && !request.leaveStdinOpen && { stdinOnce: true }),
    ...(tty && { tty: true }),
  };
  return {
    containers: [container],
    dnsPolicy: "ClusterFirst",
    restartPolicy: request.restartPolicy,
    ...filled("serviceAccountName", request.serviceAccount),
  };
}

export const podOf = (request: PodArguments): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { ...filled("annotations", request.annotations), labels: request.labels, name: request.name },
  spec: podSpec(request),
  status: {},
});

const template = (request: PodArguments): KubeObject => ({
  metadata: { ...filled("annotations", request.annotations), labels: request.labels },
  spec: podSpec(request),
});

export const deploymentOfPod = (request: PodArguments, replicas: number): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { labels: request.labels, name: request.name },
  spec: { replicas, selector: { matchLabels: request.labels }, strategy: {}, template: template(request) },
  status: {},
});

export const replicationControllerOfPod = (request: PodArguments, replicas: number): KubeObject => ({
  apiVersion: "v1",
  kind: "ReplicationController",
  metadata: { labels: request.labels, name: request.name },
  spec: { replicas, selector: request.labels, template: template(request) },
  status: { replicas: 0 },
});

export const jobOfPod = (request: PodArguments): KubeObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { labels: request.labels, name: request.name },
  spec: { template: template(request) },
  status: {},
});

export const cronJobOfPod = (request: PodArguments, schedule: string): KubeObject => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { labels: request.labels, name: request.name },
  spec: { jobTemplate: { metadata: {}, spec: { template: template(request) } }, schedule },
  status: {},
});

export interface DeploymentRequest {
  readonly name: string;
  readonly images: readonly string[];
  readonly command: readonly string[];
  readonly replicas: number;
  /** Negative for none. */
  readonly port: number;
}

/** `kubectl create deployment`. */
export function deploymentOf({ name, images, command, replicas, port }: DeploymentRequest, random: Random): KubeObject {
  const labels = { app: name };
  const containers = images.map((image, i) => ({
    ...filled("command", command),
    image,
    name: containerName(image, random),
    ...(port >= 0 && i === 0 && { ports: [{ containerPort: port }] }),
    resources: {},
  }));
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { labels, name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: {},
      template: { metadata: { labels }, spec: { containers } },
    },
    status: {},
  };
}

/** Upstream's letters for names: none that could make a word. */
const letters = "bcdfghjklmnpqrstvwxz2456789";

/** Dots and underscores cannot stand in the name of a container; without them it may no longer be the only one. */
function containerName(image: string, random: Random): string {
  const name = imageBaseName(image);
  if (!/[_.]/.test(name)) return name;
  const suffix = Array.from({ length: 5 }, () => letters[random.below(letters.length)]).join("");
  return `${name.replaceAll(/[_.]/g, "-")}-${suffix}`;
}

const jobPod = (name: string, image: string, command: readonly string[], restartPolicy: string): KubeObject => ({
  containers: [{ ...filled("command", command), image, name, resources: {} }],
  restartPolicy,
});

/** `kubectl create job`. */
export const jobOf = (name: string, image: string, command: readonly string[]): KubeObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: { template: { metadata: {}, spec: jobPod(name, image, command, "Never") } },
  status: {},
});

/** `kubectl create job --from=cronjob/NAME`: the run that the cron job would begin. */
export function jobOfCronJob(name: string, cronJob: KubeObject): KubeObject {
  const { metadata = {}, spec = {} } = cronJob as { metadata?: KubeObject; spec?: KubeObject };
  const { jobTemplate = {} } = spec as { jobTemplate?: { metadata?: KubeObject; spec?: unknown } };
  const { annotations = {}, labels } = (jobTemplate.metadata ?? {}) as { annotations?: object; labels?: object };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      annotations: { "cronjob.kubernetes.io/instantiate": "manual", ...annotations },
      ...filled("labels", labels),
      name,
      ownerReferences: [
        { apiVersion: "batch/v1", controller: true, kind: "CronJob", name: metadata.name, uid: metadata.uid },
      ],
    },
    spec: jobTemplate.spec,
    status: {},
  };
}

export interface CronJobRequest {
  readonly name: string;
  readonly image: string;
  readonly schedule: string;
  readonly command: readonly string[];
  readonly restart: string;
}

/** `kubectl create cronjob`. */
export const cronJobOf = ({ name, image, schedule, command, restart }: CronJobRequest): KubeObject => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name },
  spec: {
    jobTemplate: {
      metadata: { name },
      spec: { template: { metadata: {}, spec: jobPod(name, image, command, restart || "OnFailure") } },
    },
    schedule,
  },
  status: {},
});
