// Issuers and servers that review, which are slow, lie, or are not who they should be: nobody is let in for it, and nobody waits without end.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SignJWT } from "jose";
import { turn } from "#base/breathe.ts";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { parseFlags } from "#cli/flags.ts";
import { authorizationFlags, authorizationOf } from "#cluster/authorization-settings.ts";
import { makeAuthority } from "#cluster/certificate-maker.ts";
import { tokenIssuerFlags, tokenIssuers } from "#cluster/token-issuers.ts";
import type { Question } from "#serving/authorization.ts";
import { loopback } from "../loopback-server.ts";

type Place = Awaited<ReturnType<typeof loopback>>;

const audiences = ["https://kubernetes.default.svc"];
const start = Date.parse("2026-06-01T00:00:00Z");
const { signal } = new AbortController();

/** Lets time pass until it is settled. */
async function settled<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const noted = promise.finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    await clock.advance(50);
    await turn();
  }
  return noted;
}

/** The same server under a kubeconfig that believes another authority. */
function mistrusting(place: Place): string {
  const day = 24 * 60 * 60 * 1000;
  const { cert } = makeAuthority({ notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) });
  place.file("other.crt", cert);
  return place.file(
    "mistrusting.kubeconfig",
    JSON.stringify({
      clusters: [{ name: "a", cluster: { server: `${place.url}/review`, "certificate-authority": "other.crt" } }],
      users: [{ name: "a", user: {} }],
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      "current-context": "a",
    }),
  );
}

/** What a server answers instead of a review that says yes; `undefined` is no answer at all. */
const badAnswers = (kind: string, yes: object): Readonly<Record<string, unknown>> => ({
  "does not answer": undefined,
  "answers with an error": 500,
  "answers with a redirect": 302,
  "answers with HTML": "<html>",
  "answers with a list": [],
  "answers with another kind": { kind: "ConfigMap", apiVersion: "v1", status: yes },
  "answers in another version": { kind, apiVersion: "v9", status: yes },
  "answers with 2 MiB": { kind, apiVersion: "v1", status: yes, padding: "x".repeat(2 << 20) },
});

async function ownerBy(t: TestContext, config: (place: Place) => string, answer: unknown): Promise<string> {
  const place = await loopback(t, () => answer);
  const clock = new ManualClock(start);
  const flags = [
    `--authentication-token-webhook-config-file=${config(place)}`,
    "--authentication-token-webhook-version=v1",
  ];
  const settings = parseFlags(tokenIssuerFlags, flags).flags;
  const { tokens } = tokenIssuers(settings, { clock, log: silentLog, signal, audiences, ownIssuers: [] });
  const asked = Promise.all(tokens.map((ask) => ask("token", audiences)));
  return settled(
    clock,
    asked.then(
      ([owner]) => owner?.user.name ?? "nobody",
      (error: Error) => error.message,
    ),
  );
}

test("a server that reviews tokens and is slow, lies or is another lets nobody in", async (t) => {
  const yes = { authenticated: true, user: { username: "ann" } };
  const good = { kind: "TokenReview", apiVersion: "authentication.k8s.io/v1", status: yes };
  assert.equal(await ownerBy(t, ({ config }) => config, good), "ann");
  for (const [what, answer] of Object.entries(badAnswers(good.kind, yes)))
    assert.equal(await ownerBy(t, ({ config }) => config, answer), "the token webhook cannot be asked", what);
  assert.equal(await ownerBy(t, mistrusting, good), "the token webhook cannot be asked", "another authority");
});

async function decisionBy(t: TestContext, config: (place: Place) => string, answer: unknown, failurePolicy: string) {
  const place = await loopback(t, () => answer);
  const clock = new ManualClock(start);
  const webhook = {
    timeout: "3s",
    subjectAccessReviewVersion: "v1",
    matchConditionSubjectAccessReviewVersion: "v1",
    failurePolicy,
    authorizedTTL: "1m",
    unauthorizedTTL: "10s",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: config(place) },
  };
  const file = place.file(
    "authorization.yaml",
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthorizationConfiguration",
      authorizers: [{ type: "Webhook", name: "it", webhook }],
    }),
  );
  const settings = parseFlags(authorizationFlags, [`--authorization-config=${file}`]).flags;
  const never = () => ({ decision: "none" }) as const;
  const choose = authorizationOf(settings, { clock, log: silentLog, signal })({ node: never, rbac: never });
  assert.ok(typeof choose === "function");
  const user = { name: "ann", groups: [] };
  const question: Question = { type: "resource", user, verb: "get", group: "", version: "v1", resource: "pods" };
  const all = Promise.all(choose().map((authorizer) => authorizer(question)));
  return (await settled(clock, all)).find(({ decision }) => decision !== "none")?.decision ?? "none";
}

test("a server that reviews access and is slow, lies or is another decides as its failure policy says", async (t) => {
  const good = { kind: "SubjectAccessReview", apiVersion: "authorization.k8s.io/v1", status: { allowed: true } };
  assert.equal(await decisionBy(t, ({ config }) => config, good, "Deny"), "allow");
  for (const [policy, expected] of [
    ["Deny", "deny"],
    ["NoOpinion", "none"],
  ] as const) {
    for (const [what, answer] of Object.entries(badAnswers(good.kind, good.status)))
      assert.equal(await decisionBy(t, ({ config }) => config, answer, policy), expected, `${what}, ${policy}`);
    assert.equal(await decisionBy(t, mistrusting, good, policy), expected, `another authority, ${policy}`);
  }
});

test("an issuer that is slow, lies or is another is not believed", async (t) => {
  const { privateKey, publicKey } = (await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    true,
    ["sign", "verify"],
  )) as CryptoKeyPair;
  const key = { ...(await crypto.subtle.exportKey("jwk", publicKey)), kid: "k", alg: "RS256" };
  const who = async (documents: (url: string) => Readonly<Record<string, unknown>>, authority?: string) => {
    const place: Place = await loopback(t, (path) => documents(place.url)[path]);
    const clock = new ManualClock(start);
    const flags = [
      `--oidc-issuer-url=${place.url}`,
      "--oidc-client-id=us",
      `--oidc-ca-file=${place.file("issuer.crt", authority ?? place.ca)}`,
    ];
    const settings = parseFlags(tokenIssuerFlags, flags).flags;
    const { tokens } = tokenIssuers(settings, { clock, log: silentLog, signal, audiences, ownIssuers: [] });
    const claims = { iss: place.url, aud: "us", sub: "ann", exp: start / 1000 + 3600 };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "k" }).sign(privateKey);
    const asked = Promise.all(tokens.map((ask) => ask(token, audiences)));
    return settled(
      clock,
      asked.then(
        ([owner]) => owner?.user.name.replace(place.url, "") ?? "nobody",
        (error: Error) => error.message,
      ),
    );
  };
  const discovery = "/.well-known/openid-configuration";
  const good = (url: string) => ({ [discovery]: { issuer: url, jwks_uri: `${url}/keys` }, "/keys": { keys: [key] } });
  assert.equal(await who(good), "#ann");
  const bad: Readonly<Record<string, (url: string) => Readonly<Record<string, unknown>>>> = {
    "no answer": () => ({}),
    "no answer where its keys are": (url) => ({ [discovery]: good(url)[discovery] }),
    "another's name": (url) => ({ ...good(url), [discovery]: { issuer: "https://x", jwks_uri: `${url}/keys` } }),
    "keys without TLS": (url) => ({ ...good(url), [discovery]: { issuer: url, jwks_uri: "http://127.0.0.1/keys" } }),
    "an error": (url) => ({ ...good(url), "/keys": 500 }),
    "a redirect": (url) => ({ ...good(url), "/keys": 302 }),
    "2 MiB": (url) => ({ ...good(url), "/keys": { keys: [key], padding: "x".repeat(2 << 20) } }),
    "no keys": (url) => ({ ...good(url), "/keys": {} }),
  };
  for (const [what, documents] of Object.entries(bad))
    assert.equal(await who(documents), "oidc: authenticator not initialized", what);
  const day = 24 * 60 * 60 * 1000;
  const stranger = makeAuthority({ notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) });
  assert.equal(await who(good, stranger.cert), "oidc: authenticator not initialized", "another authority");
});
