// Pods and what is observed of them, for tests of this layer.
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft } from "#schema/infer.ts";
import { crashDelays } from "./pod/restart.ts";
import type { PodSyncView } from "./pod/view.ts";
import type { ContainerState, PodState, SandboxState } from "./runtime.ts";

export const now = Date.parse("2026-01-01T00:00:00Z");

/** A pod as a server would store it. */
export function podOf(spec: Draft<PodSpec> = {}, rest: Draft<Pod> = {}): Pod {
  const draft: Draft<Pod> = {
    apiVersion: "v1",
    kind: "Pod",
    ...rest,
    metadata: { name: "web", namespace: "default", uid: "u1", generation: 1, resourceVersion: "1", ...rest.metadata },
    spec: { nodeName: "n1", containers: [{ name: "web", image: "nginx" }], ...spec },
  };
  return applyDefaults(Pod, structuredClone(draft)) as Pod;
}

export const sandboxOf = (id = "s1", rest: Partial<SandboxState> = {}): SandboxState => ({
  id,
  attempt: 0,
  isReady: true,
  createdAt: now,
  ips: ["10.0.0.2"],
  ...rest,
});

/** `web running`, `setup exited 1`: a container of the sandbox s1 with the image of its name, or nginx for web. */
export function containerOf(text: string, rest: Partial<ContainerState> = {}): ContainerState {
  const [name = "", phase = "running", code = "0"] = text.split(" ");
  const exitCode = Number(code);
  const isExited = phase === "exited";
  return {
    id: `${name}-${rest.attempt ?? 0}`,
    sandbox: "s1",
    name,
    attempt: 0,
    phase: phase as ContainerState["phase"],
    createdAt: now,
    startedAt: phase === "created" ? 0 : now,
    finishedAt: isExited ? now : 0,
    exitCode,
    reason: isExited ? (exitCode === 0 ? "Completed" : "Error") : "",
    message: "",
    image: name === "web" ? "nginx" : name,
    imageId: "nginx@sha256:1",
    ...rest,
  };
}

export const stateOf = (containers: readonly (string | ContainerState)[], sandboxes = [sandboxOf()]): PodState => ({
  sandboxes,
  containers: containers.map((one) => (typeof one === "string" ? containerOf(one) : one)),
});

/** A view in which nothing goes on but what is told. */
export const viewOf = (pod: Pod, state: PodState, rest: Partial<PodSyncView> = {}): PodSyncView => ({
  pod,
  state,
  isSandboxBusy: false,
  sandboxRetryAt: 0,
  starting: new Set(),
  stopping: new Map(),
  removing: new Set(),
  restarting: new Set(),
  probes: new Map(),
  delays: new Map(),
  failures: new Map(),
  termination: undefined,
  acceptedAt: now,
  crashDelays,
  now,
  ...rest,
});
