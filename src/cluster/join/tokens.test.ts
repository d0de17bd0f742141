import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "#api/core/v1/secret.ts";
import { seededRandom } from "#base/random.ts";
import { makeToken, parseToken, tokenRow, tokenSecret } from "./tokens.ts";

test("a new token has the form that all tools expect, and no two are alike", () => {
  const random = seededRandom(1);
  const tokens = Array.from({ length: 100 }, () => makeToken(random));
  for (const { id, secret } of tokens) assert.deepEqual(parseToken(`${id}.${secret}`), { id, secret });
  assert.equal(new Set(tokens.map(({ secret }) => secret)).size, 100);
});

test("what is no token is refused", () => {
  for (const text of ["", "abcdef", "ABCDEF.0123456789abcdef", "abcdef.0123", "abcdef.0123456789abcdef0"])
    assert.throws(() => parseToken(text), /is not a token such as/);
});

test("a token says in its secret until when it is good and what it gives", () => {
  const endsAt = Date.parse("2026-01-02T00:00:00Z");
  const draft = tokenSecret({ id: "abcdef", secret: "0123456789abcdef" }, { endsAt, description: "rack 2" });
  const text = (key: string) => Buffer.from(draft.data?.[key] ?? "", "base64").toString();
  assert.equal(draft.metadata?.name, "bootstrap-token-abcdef");
  assert.equal(text("auth-extra-groups"), "system:bootstrappers:kubeadm:default-node-token");
  assert.equal(text("expiration"), "2026-01-02T00:00:00Z");
  assert.deepEqual(tokenRow(draft as object as Secret), {
    token: "abcdef.0123456789abcdef",
    endsAt,
    usages: ["authentication", "signing"],
    description: "rack 2",
  });
});
