// Facts for tests of the rules: what a test does not say is as it is for a pod that is well.
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { PodFacts } from "./reasons/pod-facts.ts";

/** An object as the server would have it. */
export function made<K extends AnyKind>(kind: K, draft: Draft<Infer<K>>): Infer<K> {
  const { object } = decodeValue(kind, structuredClone({ apiVersion: kind.apiVersion, kind: kind.kind, ...draft }));
  applyDefaults(kind, object);
  return object as Infer<K>; // a draft of the kind, decoded as the kind
}

/** Ten minutes after all that happens in these tests began. */
export const now = Date.parse("2026-01-01T00:10:00Z");
export const began = "2026-01-01T00:00:00Z";
export const lately = "2026-01-01T00:09:30Z";

export const nodeThat = (ready: "True" | "False" | "Unknown", message = ""): Node =>
  made(Node, {
    metadata: { name: "n1", creationTimestamp: began },
    status: { conditions: [{ type: "Ready", status: ready, reason: "Kubelet", message, lastTransitionTime: lately }] },
  });

type Fields = Readonly<Record<string, unknown>>;

export function podWith(
  { metadata = {}, spec = {}, status = {} }: { metadata?: Fields; spec?: Fields; status?: Fields },
  rest: Partial<PodFacts> = {},
): PodFacts {
  return {
    pod: made(Pod, {
      metadata: { name: "web", namespace: "default", uid: "u1", creationTimestamp: began, ...metadata },
      spec: { containers: [{ name: "main", image: "nginx" }], ...spec },
      status,
    }),
    events: [],
    node: spec.nodeName ? nodeThat("True") : "unread",
    nodes: [],
    claims: new Map(),
    verdicts: [],
    lastLines: new Map(),
    deletedBy: undefined,
    now,
    ...rest,
  };
}

/** A pod on n1 whose one container is as told. */
export const podRunning = (container: Fields, rest: Partial<PodFacts> = {}, spec: Fields = {}, status: Fields = {}) =>
  podWith(
    {
      spec: { nodeName: "n1", ...spec },
      status: {
        phase: "Running",
        startTime: began,
        containerStatuses: [
          { name: "main", image: "nginx:none", imageID: "", ready: false, restartCount: 0, ...container },
        ],
        ...status,
      },
    },
    rest,
  );

export const readyPod = (name: string): PodFacts =>
  podWith({
    metadata: { name, labels: { app: "web" } },
    spec: { nodeName: "n1" },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime: began }] },
  });

export const eventThat = (reason: string, message: string, more: Fields = {}): Event =>
  made(Event, {
    metadata: { name: `e.${reason}`, namespace: "default" },
    involvedObject: { kind: "Pod", name: "web" },
    type: "Warning",
    reason,
    message,
    firstTimestamp: began,
    lastTimestamp: lately,
    ...more,
  });
