import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import { containerOf, podOf, stateOf } from "../testing.ts";
import { dueResizes, type ResizeView } from "./resize.ts";

const small = { requests: { cpu: "100m", memory: "32Mi" }, limits: { memory: "64Mi" } };
const large = { requests: { cpu: "200m", memory: "32Mi" }, limits: { memory: "64Mi" } };
const larger = { requests: { cpu: "200m", memory: "32Mi" }, limits: { memory: "96Mi" } };

/** A pod whose container wants `resources`, and was told to have others. */
function view(resources: object, told: object | undefined, rest: Partial<ResizeView> = {}): ResizeView {
  const resizePolicy = [{ resourceName: "memory", restartPolicy: "RestartContainer" as const }];
  const pod = podOf({ containers: [{ name: "web", image: "nginx", resources, resizePolicy }] });
  const status = { name: "web", containerID: "containerd://web-0", resources: told } as ContainerStatus;
  return {
    pod: { ...pod, status: { ...pod.status, containerStatuses: [status] } },
    state: stateOf(["web running"]),
    runtimeName: "containerd",
    starting: new Set(),
    stopping: new Map(),
    resized: new Map(),
    ...rest,
  };
}

test("containers are due that run with other resources than their spec says", () => {
  const table: readonly [string, ResizeView, string][] = [
    ["nothing has changed", view(small, small), ""],
    ["more of what is given in place", view(large, small), "web in place"],
    ["more of what takes a restart", view(larger, small), "web by a restart"],
    ["it was given, but that is not told yet", view(large, small, { resized: new Map([["web-0", large]]) }), ""],
    [
      "it was given, but more is asked for by now",
      view(larger, small, { resized: new Map([["web-0", large]]) }),
      "web by a restart",
    ],
    ["nobody has told what it has", view(large, undefined), ""],
    [
      "it is another container by now",
      view(large, small, { state: stateOf([containerOf("web running", { id: "other" })]) }),
      "",
    ],
    ["it has ended", view(large, small, { state: stateOf(["web exited"]) }), ""],
    ["it is being started", view(large, small, { starting: new Set(["web"]) }), ""],
    ["it is being stopped", view(large, small, { stopping: new Map([["web-0", {}]]) }), ""],
  ];
  for (const [name, seen, expected] of table) {
    const due = dueResizes(seen).map(
      ({ container, restarts }) => `${container.name} ${restarts ? "by a restart" : "in place"}`,
    );
    assert.equal(due.join(), expected, name);
  }
});
