import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reason } from "./reasons/reason.ts";
import { began, eventThat, lately, now } from "./testing.ts";
import type { Explanation } from "./why.ts";
import { answerText, coloured } from "./why-text.ts";

const answer = (reason: Reason, rest: Partial<Explanation> = {}): Explanation => ({
  subject: { kind: "Pod", namespace: "default", name: "web" },
  reason,
  chain: [],
  events: [],
  ...rest,
});

test("an answer says what, since when, who says so, what helps, what led there, and what else was reported", () => {
  const text = answerText(
    answer(
      {
        code: "CrashLoop",
        state: "wrong",
        says: "keeps failing",
        since: began,
        evidence: [
          { from: "event BackOff", says: "Back-off", at: lately, count: 3 },
          { from: "log of main", says: "one\ntwo\n" },
          { from: "next start", says: "in about 10 s", at: "2026-01-01T00:10:10Z" },
        ],
        remedies: ["read the log"],
      },
      {
        chain: [
          {
            revision: 1,
            at: now - 600_000,
            resource: "pods",
            namespace: "default",
            name: "web",
            verb: "create",
            user: "kubernetes-admin",
            userAgent: "kubectl/v1",
            traceId: "",
            because: [],
            stages: {},
          },
        ],
        events: [
          eventThat("Started", "Container started", { type: "Normal", count: 4 }),
          eventThat("BackOff", "Back-off"),
        ],
      },
    ),
    now,
  );
  assert.deepEqual(text, [
    "Pod default/web keeps failing.",
    "  for 10m, since 2026-01-01T00:00:00Z",
    "  event BackOff (3 times, last 30s ago): Back-off",
    "  log of main: one\n    two",
    "  next start: in about 10 s",
    "",
    "What can be done:",
    "  - read the log",
    "",
    "How it came to be:",
    "  10m ago  kubernetes-admin: create pods/web",
    "",
    "What else was reported:",
    "  Normal Started (4 times, last 30s ago): Container started",
  ]);
});

test("an answer shows one of the pods that are alike, and names the others", () => {
  const wrong: Reason = { code: "X", state: "wrong", says: "waits", evidence: [{ from: "event X", says: "no" }] };
  const fine: Reason = { code: "Y", state: "fine", says: "runs", evidence: [{ from: "y", says: "unsaid" }] };
  const text = answerText(
    answer({
      code: "X",
      state: "wrong",
      says: "is not complete",
      parts: [
        { names: ["a", "b", "c"], of: 4, reason: wrong },
        { names: ["d"], of: 4, reason: fine },
      ],
    }),
    now,
  );
  assert.deepEqual(text.slice(1), ["  3 of 4 pods: a waits (b, c alike)", "    event X: no", "  1 of 4 pods: d runs"]);
});

test("an answer is coloured by its state where colours are wanted", () => {
  const [line = ""] = answerText(answer({ code: "X", state: "wrong", says: "waits" }), now, coloured);
  assert.ok(line.includes("\u001b[31mwaits\u001b[0m"));
});
