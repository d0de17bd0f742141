import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { serviceAccountTokenController } from "./serviceaccount-token.ts";

const namespace = "default";
const type = "kubernetes.io/service-account-token";
const rootCa = "-----BEGIN CERTIFICATE-----";
const tokens = serviceAccountTokenController({ rootCa, sign: async (claims) => JSON.stringify(claims) });
const annotations = { "kubernetes.io/service-account.name": "bot" };

const secretOf = (w: ClientWorld, rest: Draft<Secret> = {}) =>
  w.have(Secret, { type, ...rest, metadata: { namespace, name: "bot-token", annotations, ...rest.metadata } });
const accountOf = (w: ClientWorld) => w.have(ServiceAccount, { metadata: { namespace, name: "bot", uid: "u-bot" } });

test("a secret for a token of an account is filled, once", async () => {
  const w = world();
  accountOf(w);
  await w.reconcile(tokens, secretOf(w));
  const [filled] = w.list(Secret);
  assert.ok(filled);
  await w.reconcile(tokens, filled);
  assert.deepEqual(w.writes(), ["update Secret bot-token"]);
  assert.deepEqual(filled.metadata.annotations, { ...annotations, "kubernetes.io/service-account.uid": "u-bot" });
  const { token = "", ...rest } = filled.data ?? {};
  assert.deepEqual(rest, { "ca.crt": btoa(rootCa), namespace: btoa(namespace) });
  assert.equal(
    atob(token),
    JSON.stringify({
      iss: "kubernetes/serviceaccount",
      sub: "system:serviceaccount:default:bot",
      "kubernetes.io/serviceaccount/namespace": namespace,
      "kubernetes.io/serviceaccount/secret.name": "bot-token",
      "kubernetes.io/serviceaccount/service-account.name": "bot",
      "kubernetes.io/serviceaccount/service-account.uid": "u-bot",
    }),
  );
});

test("another authority is told, and the token stays", async () => {
  const w = world();
  accountOf(w);
  const data = { token: btoa("kept"), namespace: btoa(namespace), "ca.crt": btoa("old"), own: btoa("too") };
  await w.reconcile(tokens, secretOf(w, { data }));
  assert.deepEqual(w.list(Secret)[0]?.data, { ...data, "ca.crt": btoa(rootCa) });
});

test("a secret goes with its account, also when another of the name is there", async () => {
  const alone = world();
  await alone.reconcile(tokens, secretOf(alone));
  assert.deepEqual(alone.writes(), ["delete Secret bot-token"]);

  const other = world();
  accountOf(other);
  const uid = { "kubernetes.io/service-account.uid": "u-before" };
  await other.reconcile(tokens, secretOf(other, { metadata: { annotations: { ...annotations, ...uid } } }));
  assert.deepEqual(other.writes(), ["delete Secret bot-token"]);
});
