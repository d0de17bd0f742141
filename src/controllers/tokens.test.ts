// Tokens that end: those by which nodes join, and those in secrets that nobody uses.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { textToBase64 } from "#base/base64.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { tokenCleanerController } from "./bootstrap-tokens/cleaner.ts";
import { bootstrapSignerController } from "./bootstrap-tokens/signer.ts";
import { legacyTokenCleaner } from "./legacy-token-cleaner.ts";

const hour = 3_600_000;
const day = 24 * hour;

const token = (w: ClientWorld, id: string, more: Readonly<Record<string, string>> = {}, namespace = "kube-system") => {
  const values = { "token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true", ...more };
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, textToBase64(value)]));
  const metadata = { name: `bootstrap-token-${id}`, namespace };
  return w.have(Secret, { metadata, type: "bootstrap.kubernetes.io/token", data });
};

test("a bootstrap token is deleted when its time is over", async () => {
  const w = world({ now: "2026-01-01T00:00:00Z" });
  const secret = token(w, "abcdef", { expiration: "2026-01-01T01:00:00Z" });
  assert.deepEqual(await w.reconcile(tokenCleanerController, secret), { afterMs: hour });
  await w.clock.advance(hour);
  await w.reconcile(tokenCleanerController, secret);
  assert.deepEqual(w.writes(), ["delete Secret kube-system/bootstrap-token-abcdef"]);
});

test("a bootstrap token without a time stays, and one with a time that cannot be read goes", async () => {
  const w = world();
  assert.equal(await w.reconcile(tokenCleanerController, token(w, "aaaaaa")), undefined);
  await w.reconcile(tokenCleanerController, token(w, "bbbbbb", { expiration: "tomorrow" }));
  assert.deepEqual(w.writes(), ["delete Secret kube-system/bootstrap-token-bbbbbb"]);
});

const base64url = (text: string) => Buffer.from(text).toString("base64url");

test("cluster-info is signed with each token that may sign, and with no other", async () => {
  const w = world({ now: "2026-01-01T00:00:00Z" });
  const metadata = { namespace: "kube-public", name: "cluster-info" };
  const data = { kubeconfig: "the text", other: "kept", "jws-kubeconfig-gone00": "old" };
  const info = w.have(ConfigMap, { metadata, data });
  token(w, "abcdef", { expiration: "2026-01-01T01:00:00Z" });
  token(w, "nosign", { "usage-bootstrap-signing": "false" });
  token(w, "ended0", { expiration: "2025-01-01T01:00:00Z" });
  token(w, "wrong0", { "token-id": "other0" });
  token(w, "nosecr", { "token-secret": "" });
  token(w, "place0", {}, "default");
  const again = await w.reconcile(bootstrapSignerController, info);
  const head = base64url('{"alg":"HS256","kid":"abcdef"}');
  const mac = createHmac("sha256", "0123456789abcdef")
    .update(`${head}.${base64url("the text")}`)
    .digest("base64url");
  assert.deepEqual(w.get(ConfigMap, metadata)?.data, {
    kubeconfig: "the text",
    other: "kept",
    "jws-kubeconfig-abcdef": `${head}..${mac}`,
  });
  assert.deepEqual(again, { afterMs: hour }, "it looks again when the signature has to go");
  w.writes();
  await w.reconcile(bootstrapSignerController, info);
  assert.deepEqual(w.writes(), []);
});

/** A world in which the token of an account was made long ago, unasked. */
function legacy(labels: Readonly<Record<string, string>>, options: { since?: string; isMade?: boolean } = {}) {
  const w = world({ now: "2026-01-01T00:00:00Z" });
  const { since = "2024-01-01", isMade = true } = options;
  const tracking = { namespace: "kube-system", name: "kube-apiserver-legacy-service-account-token-tracking" };
  w.have(ConfigMap, { metadata: tracking, data: { since } });
  const account = w.have(ServiceAccount, { metadata: { name: "a" }, secrets: isMade ? [{ name: "t" }] : [] });
  const secret = w.have(Secret, {
    metadata: {
      name: "t",
      labels,
      creationTimestamp: "2023-01-01T00:00:00Z",
      annotations: {
        "kubernetes.io/service-account.name": "a",
        "kubernetes.io/service-account.uid": account.metadata.uid ?? "",
      },
    },
    type: "kubernetes.io/service-account-token",
  });
  return { w, secret };
}
const used = "kubernetes.io/legacy-token-last-used";
const invalid = "kubernetes.io/legacy-token-invalid-since";
const cases: Readonly<Record<string, readonly [Parameters<typeof legacy>, readonly string[]]>> = {
  "one that was never used is invalidated": [[{}], ["patch Secret t"]],
  "one that was used a year ago is invalidated": [[{ [used]: "2024-12-31" }], ["patch Secret t"]],
  "one that was used since is kept": [[{ [used]: "2025-01-01" }], []],
  "one whose day cannot be read is kept": [[{ [used]: "soon" }], []],
  "one that has been invalid for less than a year is kept": [[{ [invalid]: "2025-01-01" }], []],
  "one that has been invalid for a year is deleted": [[{ [invalid]: "2024-12-31" }], ["delete Secret t"]],
  "one that people made is kept": [[{}, { isMade: false }], []],
  "all are kept until uses have been noted for long enough": [[{}, { since: "2025-01-01" }], []],
  "all are kept where nobody knows since when uses are noted": [[{}, { since: "some day" }], []],
};
for (const [what, [options, writes]] of Object.entries(cases))
  test(`tokens in secrets: ${what}`, async () => {
    const { w, secret } = legacy(...options);
    await w.reconcile(legacyTokenCleaner(365 * day), secret);
    assert.deepEqual(w.writes(), writes);
  });

test("tokens in secrets: one that a pod has as a volume is kept", async () => {
  const { w, secret } = legacy({});
  const volumes = [{ name: "v", secret: { secretName: "t" } }];
  w.have(Pod, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }], volumes } });
  await w.reconcile(legacyTokenCleaner(365 * day), secret);
  assert.deepEqual(w.writes(), []);
});
