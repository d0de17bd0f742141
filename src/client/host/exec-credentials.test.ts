import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { impersonationHeaders } from "../credentials.ts";
import { execCredentials } from "./exec-credentials.ts";

const version = "client.authentication.k8s.io/v1";

/** A program that prints what is in a file, and notes each run and what it was told. */
function program(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "exec-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string) => join(folder, name);
  writeFileSync(file("runs"), "");
  const prints = (text: string) => writeFileSync(file("out"), text);
  const exec = {
    apiVersion: version,
    command: "sh",
    args: ["-c", `echo "$EXTRA $KUBERNETES_EXEC_INFO" >> ${file("runs")}; cat ${file("out")}`],
    env: [{ name: "EXTRA", value: "hello" }],
    provideClusterInfo: true,
  };
  const runs = () => readFileSync(file("runs"), "utf8").trim().split("\n").filter(Boolean);
  return { exec, prints, runs };
}

const printed = (status: object, apiVersion = version) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion, status });

test("a program is run once, again when what it gave ends, and when the server did not take it", async (t) => {
  const { exec, prints, runs } = program(t);
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const source = execCredentials(exec, { server: "https://a" }, clock);
  prints(printed({ token: "one", expirationTimestamp: "2026-01-01T01:00:00Z" }));
  const both = await Promise.all([source.current(), source.current()]);
  assert.deepEqual(both, [{ authorization: "Bearer one" }, { authorization: "Bearer one" }]);
  assert.equal(runs().length, 1);
  const [, info = ""] = /^hello (.*)$/.exec(runs()[0] ?? "") ?? [];
  const { cluster, interactive } = JSON.parse(info).spec;
  assert.deepEqual([cluster, interactive], [{ server: "https://a" }, false]);
  prints(printed({ token: "two" }));
  await clock.advance(3_600_000);
  assert.deepEqual(await source.current(), { authorization: "Bearer two" });
  prints(printed({ clientCertificateData: "c", clientKeyData: "k" }));
  assert.deepEqual(await source.current(), { authorization: "Bearer two" });
  source.refused();
  assert.deepEqual(await source.current(), { cert: "c", key: "k" });
  assert.equal(runs().length, 3);
});

for (const [why, text, message] of [
  ["no JSON", "secret-mark", /did not print JSON$/],
  ["another kind", '{"kind":"Secret","data":"secret-mark"}', /did not print an ExecCredential$/],
  [
    "another version",
    printed({ token: "secret-mark" }, "client.authentication.k8s.io/v1beta1"),
    /plugin returned version/,
  ],
  ["nothing", printed({}), /didn't return a token or cert\/key pair$/],
  ["half a pair", printed({ clientKeyData: "secret-mark" }), /only certificate or key/],
] as const)
  test(`a program that prints ${why} gives nothing, and what it printed is not told`, async (t) => {
    const { exec, prints } = program(t);
    prints(text);
    const source = execCredentials(exec, {}, new ManualClock());
    await assert.rejects(source.current(), (error: Error) => {
      assert.match(error.message, message);
      assert.ok(!error.message.includes("secret-mark"));
      return true;
    });
  });

test("an exec that cannot be run is the person's mistake", () => {
  for (const exec of [
    undefined,
    {},
    { command: "a" },
    { command: "a", apiVersion: "v1" },
    { command: "a", apiVersion: version, interactiveMode: "Always" },
  ])
    assert.throws(() => execCredentials(exec, {}, new ManualClock()), UsageError);
});

test("a user of a kubeconfig may act as another, with a UID, groups and more", () => {
  const user = { as: "ann", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": { "acme.io/Team": ["x"] } };
  assert.deepEqual(impersonationHeaders(user), {
    "impersonate-user": "ann",
    "impersonate-uid": "7",
    "impersonate-group": ["a", "b"],
    "impersonate-extra-acme.io%2fteam": ["x"],
  });
  assert.deepEqual(impersonationHeaders({}), {});
});
