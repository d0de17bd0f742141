import assert from "node:assert/strict";
import { test } from "node:test";
import type { SecurityContext } from "#api/core/v1/security-context.ts";
import type { Draft } from "#schema/infer.ts";
import { rootProblem } from "./root-user.ts";
import type { Image } from "./runtime.ts";
import { podOf } from "./testing.ts";

type Context = Draft<SecurityContext>;
const where = '(pod: "web_default(u1)", container: web)';

const cases: readonly (readonly [name: string, own: Context, all: Context, user: Image["user"], expected?: string])[] =
  [
    ["an image of root, where nobody minds", {}, {}, { id: 0 }],
    [
      "an image of root",
      {},
      { runAsNonRoot: true },
      { id: 0 },
      "container has runAsNonRoot and image will run as root",
    ],
    ["an image of somebody", { runAsNonRoot: true }, {}, { id: 33 }],
    ["an image of root, run as somebody", { runAsUser: 7 }, { runAsNonRoot: true }, { id: 0 }],
    ["an image of root, where only the pod minds", { runAsNonRoot: false }, { runAsNonRoot: true }, { id: 0 }],
    [
      "an image of somebody, run as root",
      { runAsNonRoot: true },
      { runAsUser: 0 },
      { id: 33 },
      "container's runAsUser breaks non-root policy",
    ],
    [
      "an image of somebody whose number is not told",
      { runAsNonRoot: true },
      {},
      { name: "nginx" },
      "container has runAsNonRoot and image has non-numeric user (nginx), cannot verify user is non-root",
    ],
    ["an image of which nothing is told", { runAsNonRoot: true }, {}, undefined],
  ];

for (const [name, own, all, user, expected] of cases)
  test(`${name} ${expected === undefined ? "is started" : "is not started"}`, () => {
    const pod = podOf({
      securityContext: all as never,
      containers: [{ name: "web", image: "nginx", securityContext: own }],
    });
    assert.equal(rootProblem(pod, pod.spec.containers[0]!, user), expected && `${expected} ${where}`);
  });
