// Tokens of others, and access that others decide about: a real issuer and real review servers on loopback, over TLS.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { type JWTPayload, SignJWT } from "jose";
import { testServer } from "#apiserver/testing.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { createLog, silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { parseFlags } from "#cli/flags.ts";
import { authorizationFlags, authorizationOf } from "#cluster/authorization-settings.ts";
import { Certificates } from "#cluster/certificates.ts";
import { tokenIssuerFlags, tokenIssuers } from "#cluster/token-issuers.ts";
import type { Question } from "#serving/authorization.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { loopback } from "./loopback-server.ts";

interface IssuerKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}
const newKey = (): IssuerKey => ({ kid: randomUUID(), ...generateKeyPairSync("rsa", { modulusLength: 2048 }) });

async function issuer(t: TestContext) {
  const state = { keys: [newKey()], isUp: true, reads: 0 };
  const place = await loopback(t, (path) => {
    if (!state.isUp) return 503;
    if (path === "/.well-known/openid-configuration") return { issuer: place.url, jwks_uri: `${place.url}/keys` };
    state.reads++;
    return {
      keys: state.keys.map(({ kid, publicKey }) => ({ kid, alg: "RS256", ...publicKey.export({ format: "jwk" }) })),
    };
  });
  const sign = (claims: JWTPayload, key = state.keys[0] as IssuerKey) =>
    new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: key.kid }).sign(key.privateKey);
  return { ...place, state, sign };
}

const audiences = ["https://kubernetes.default.svc"];
const now = Date.parse("2026-06-01T00:00:00Z") / 1000;

function authenticate(flags: readonly string[], clock: ManualClock, metrics = new MetricRegistry()) {
  const settings = parseFlags(tokenIssuerFlags, flags).flags;
  const { signal } = new AbortController();
  const world = { clock, log: silentLog, signal, metrics, audiences, ownIssuers: ["https://own"] };
  const { tokens } = tokenIssuers(settings, world);
  return async (token: string): Promise<string> => {
    for (const ask of tokens) {
      try {
        const owner = await ask(token, audiences);
        if (owner) return `${owner.user.name} [${owner.user.groups.join(" ")}]`;
      } catch (error) {
        assert.ok(error instanceof Error && error.name === "TokenError", String(error));
        return error.message;
      }
    }
    return "unknown";
  };
}

test("a token of an issuer is believed only if everything about it is good", async (t) => {
  const { url, ca, file, sign } = await issuer(t);
  const who = authenticate(
    [
      `--oidc-issuer-url=${url}`,
      "--oidc-client-id=us",
      `--oidc-ca-file=${file("issuer-ca.crt", ca)}`,
      "--oidc-username-claim=email",
      "--oidc-groups-claim=groups",
      "--oidc-groups-prefix=oidc:",
      "--oidc-required-claim=hd=acme",
    ],
    new ManualClock(now * 1000),
  );
  const good = { iss: url, aud: "us", exp: now + 60, email: "ann@acme", hd: "acme", groups: ["a", "b"] };
  const table: readonly (readonly [JWTPayload, string | RegExp])[] = [
    [good, "ann@acme [oidc:a oidc:b]"],
    [{ ...good, aud: ["others", "us"] }, "ann@acme [oidc:a oidc:b]"],
    [{ ...good, groups: "one" }, "ann@acme [oidc:one]"],
    [{ ...good, email_verified: true }, "ann@acme [oidc:a oidc:b]"],
    [{ ...good, nbf: now + 200 }, "ann@acme [oidc:a oidc:b]"],
    [{ ...good, email_verified: false }, "oidc: email not verified"],
    [{ ...good, exp: now - 1 }, "oidc: token is expired"],
    [{ ...good, exp: "never" as never }, "oidc: token has no expiry"],
    [{ ...good, nbf: now + 301 }, /before the nbf/],
    [{ ...good, aud: "others" }, /expected audience/],
    [{ ...good, aud: [] }, /expected audience/],
    [{ ...good, iss: "https://elsewhere" }, "unknown"],
    [{ ...good, hd: "evil" }, /required claim hd value does not match/],
    [{ ...good, email: 7 }, /not a string/],
    [{ ...good, groups: [7] }, /list of strings/],
    [{ ...good, groups: undefined, _claim_names: { groups: "s" } }, /distributed claims/],
  ];
  for (const [claims, expected] of table) {
    const said = await who(await sign(claims));
    if (typeof expected === "string") assert.equal(said, expected);
    else assert.match(said, expected);
  }
  const stranger = newKey();
  assert.match(await who(await sign(good, stranger)), /verify token/);
  const token = await sign(good);
  const [head, body, signature = ""] = token.split(".");
  const none = Buffer.from('{"alg":"none"}').toString("base64url");
  const hmac = Buffer.from('{"alg":"HS256"}').toString("base64url");
  for (const broken of [`${none}.${body}.`, `${hmac}.${body}.${signature}`, `${head}.${body}.${signature.slice(2)}`])
    assert.match(await who(broken), /verify token|malformed/);
  for (const text of ["", "a", "a.b", "a.b.c", "..", "🙂.🙂.🙂"]) assert.equal(await who(text), "unknown");
});

test("keys that are changed under load: new ones are good at once, withdrawn ones no longer than a minute", async (t) => {
  const { url, ca, file, sign, state } = await issuer(t);
  const clock = new ManualClock(now * 1000);
  const flags = [`--oidc-issuer-url=${url}`, "--oidc-client-id=us", `--oidc-ca-file=${file("issuer-ca.crt", ca)}`];
  const who = authenticate(flags, clock);
  const claims = { iss: url, aud: "us", exp: now + 3600, sub: "ann" };
  const name = `${url}#ann []`;
  const [first] = state.keys as [IssuerKey];
  for (let round = 0; round < 5; round++) {
    const [old] = state.keys as [IssuerKey];
    const fresh = newKey();
    state.keys = [fresh];
    await clock.advance(1000); // the issuer is not asked more often than this
    const load = Array.from({ length: 20 }, async (_, i) => who(await sign(claims, i % 2 ? fresh : old)));
    const answers = await Promise.all(load);
    assert.ok(answers.every((said, i) => (i % 2 ? said === name : said === name || /verify token/.test(said))));
    await clock.advance(60_001);
    assert.match(await who(await sign(claims, old)), /verify token/);
  }
  assert.match(await who(await sign(claims, first)), /verify token/);
  const before = state.reads;
  await clock.advance(1000);
  const strange = newKey();
  await Promise.all(Array.from({ length: 50 }, async () => who(await sign(claims, strange))));
  assert.ok(state.reads - before <= 1, "unknown keys must not make us flood the issuer");
  state.isUp = false;
  await clock.advance(60_001);
  assert.equal(await who(await sign(claims)), name);
  await clock.advance(3_600_000);
  assert.match(await who(await sign({ ...claims, exp: now + 36_000 })), /not initialized/);
});

test("an issuer that lies about its name is not believed", async (t) => {
  const place = await loopback(t, () => ({ issuer: "https://elsewhere", jwks_uri: "https://elsewhere/keys" }));
  const flags = [
    `--oidc-issuer-url=${place.url}`,
    "--oidc-client-id=us",
    `--oidc-ca-file=${place.file("c.crt", place.ca)}`,
  ];
  const who = authenticate(flags, new ManualClock(now * 1000));
  const token = await new SignJWT({ iss: place.url }).setProtectedHeader({ alg: "RS256" }).sign(newKey().privateKey);
  assert.match(await who(token), /not initialized/);
});

test("a configuration of several issuers is read again when it changes, and a broken one is not", async (t) => {
  const one = await issuer(t);
  const two = await issuer(t);
  const jwt = ({ url, ca }: typeof one, prefix: string) => ({
    issuer: { url, certificateAuthority: ca, audiences: ["us"] },
    claimMappings: { username: { claim: "sub", prefix }, uid: { claim: "id" } },
    claimValidationRules: [{ claim: "hd", requiredValue: "acme" }],
  });
  const config = (...list: readonly object[]) =>
    JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration", jwt: list });
  const path = one.file("authentication.yaml", config(jwt(one, "one:")));
  const clock = new ManualClock(now * 1000);
  const metrics = new MetricRegistry();
  const who = authenticate([`--authentication-config=${path}`], clock, metrics);
  const claims = { aud: "us", exp: now + 3600, sub: "ann", id: "7", hd: "acme" };
  const ofOne = await one.sign({ ...claims, iss: one.url });
  const ofTwo = await two.sign({ ...claims, iss: two.url });
  assert.deepEqual([await who(ofOne), await who(ofTwo)], ["one:ann []", "unknown"]);
  one.file("authentication.yaml", config(jwt(one, "one:"), jwt(two, "")));
  await clock.advance(60_000);
  assert.deepEqual([await who(ofOne), await who(ofTwo)], ["one:ann []", "ann []"]);
  one.file("authentication.yaml", "jwt: [");
  await clock.advance(60_000);
  assert.equal(await who(ofTwo), "ann []");
  const counted = await metrics.text();
  for (const status of ["success", "failure"])
    assert.ok(
      counted.includes(`apiserver_authentication_config_controller_automatic_reloads_total{status="${status}"} 1\n`),
      counted,
    );
});

test("claims and users are mapped and checked by expressions, and one that fails lets nobody in", async (t) => {
  const place = await issuer(t);
  const config = JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [
      {
        issuer: {
          url: place.url,
          certificateAuthority: place.ca,
          audiences: ["us", "them"],
          audienceMatchPolicy: "MatchAny",
        },
        claimMappings: {
          username: { expression: "'oidc:' + claims.name" },
          groups: { expression: "claims.roles.split(',')" },
          uid: { expression: "claims.sub" },
          extra: [{ key: "acme.io/tenant", valueExpression: "has(claims.tenant) ? claims.tenant : ''" }],
        },
        claimValidationRules: [{ expression: "claims.level > 2", message: "too low" }],
        userValidationRules: [{ expression: "!user.username.startsWith('oidc:system')", message: "reserved" }],
      },
    ],
  });
  const who = authenticate(
    [`--authentication-config=${place.file("authentication.yaml", config)}`],
    new ManualClock(now * 1000),
  );
  const good = {
    iss: place.url,
    aud: "them",
    exp: now + 60,
    sub: "7",
    name: "ann",
    roles: "a,b",
    level: 3,
    tenant: "t",
  };
  const table: readonly (readonly [JWTPayload, string | RegExp])[] = [
    [good, "oidc:ann [a b]"],
    [{ ...good, level: 2 }, /validation expression 'claims.level > 2' failed: too low/],
    [{ ...good, level: "9" }, /error evaluating claim validation expression/],
    [{ ...good, name: "system:masters" }, /failed: reserved/],
    [{ ...good, name: 7 }, /error evaluating username claim expression/],
    [{ ...good, name: undefined }, /error evaluating username claim expression/],
    [{ ...good, roles: undefined }, /error evaluating groups claim expression/],
  ];
  for (const [claims, expected] of table) {
    const said = await who(await place.sign(claims));
    if (typeof expected === "string") assert.equal(said, expected);
    else assert.match(said, expected);
  }
});

test("a server that reviews tokens is believed for a while, and not when it is slow or lies", async (t) => {
  const asked: string[] = [];
  const review = (status: object, kind = "TokenReview") => ({
    kind,
    apiVersion: "authentication.k8s.io/v1",
    status,
  });
  const user = { username: "ann", groups: ["devs"] };
  const place = await loopback(t, (_path, body) => {
    const { token } = JSON.parse(body).spec;
    asked.push(token);
    switch (token) {
      case "good":
        return review({ authenticated: true, user });
      case "other-audience":
        return review({ authenticated: true, user, audiences: ["others"] });
      case "nameless":
        return review({ authenticated: true, user: {} });
      case "truthy":
        return review({ authenticated: "yes", user });
      case "error":
        return review({ authenticated: true, user }, "SubjectAccessReview");
      case "no-json":
        return "<html>";
      case "reason":
        return review({ authenticated: false, error: "ended" });
      default:
        return review({ authenticated: false });
    }
  });
  const clock = new ManualClock(now * 1000);
  const who = authenticate(
    [`--authentication-token-webhook-config-file=${place.config}`, "--authentication-token-webhook-version=v1"],
    clock,
  );
  const table = {
    good: "ann [devs]",
    bad: "unknown",
    reason: "ended",
    "other-audience": "unknown",
    nameless: "the webhook names no user",
    truthy: "unknown",
    error: "the token webhook cannot be asked",
    "no-json": "the token webhook cannot be asked",
  };
  for (const [token, expected] of Object.entries(table)) assert.equal(await who(token), expected, token);
  const before = asked.length;
  await who("good");
  await who("bad");
  assert.equal(asked.length, before);
  await clock.advance(120_000);
  await who("good");
  await who("bad");
  assert.equal(asked.length, before + 2);
});

const question: Question = {
  type: "resource",
  user: { name: "ann", groups: ["devs"], uid: "7" },
  verb: "list",
  group: "apps",
  version: "v1",
  resource: "deployments",
  namespace: "x",
  fieldSelector: [{ field: "metadata.name", operator: "=", value: "a" }],
  labelSelector: "app in (a,b),!old",
};

test("webhooks of an authorization configuration are asked in order, cached, and fail as they are told to", async (t) => {
  const specs: object[] = [];
  let status: object | number = { allowed: true, reason: "fine" };
  const place = await loopback(t, (_path, body) => {
    specs.push(JSON.parse(body).spec);
    if (typeof status === "number") return status;
    return { kind: "SubjectAccessReview", apiVersion: "authorization.k8s.io/v1", status };
  });
  const webhook = (failurePolicy: string) => ({
    timeout: "3s",
    subjectAccessReviewVersion: "v1",
    failurePolicy,
    authorizedTTL: "1m",
    unauthorizedTTL: "10s",
    matchConditionSubjectAccessReviewVersion: "v1",
    matchConditions: [{ expression: "has(request.resourceAttributes)" }, { expression: "request.user != 'root'" }],
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: place.config },
  });
  const config = (failurePolicy: string) =>
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthorizationConfiguration",
      authorizers: [
        { type: "Webhook", name: "first", webhook: webhook(failurePolicy) },
        { type: "AlwaysDeny", name: "last" },
      ],
    });
  const path = place.file("authorization.yaml", config("Deny"));
  const clock = new ManualClock(now * 1000);
  const { signal } = new AbortController();
  const settings = parseFlags(authorizationFlags, [`--authorization-config=${path}`]).flags;
  const never = () => ({ decision: "none" }) as const;
  const metrics = new MetricRegistry();
  const choose = authorizationOf(settings, { clock, log: silentLog, signal, metrics })({ node: never, rbac: never });
  assert.ok(typeof choose === "function");
  const ask = async (verb: string) => {
    for (const authorizer of choose()) {
      const verdict = await authorizer({ ...question, verb });
      if (verdict.decision !== "none") return `${verdict.decision} ${verdict.reason ?? ""}`.trim();
    }
    return "none";
  };
  assert.equal(await ask("list"), "allow fine");
  assert.equal(await ask("list"), "allow fine");
  assert.equal(specs.length, 1);
  assert.deepEqual(specs[0], {
    resourceAttributes: {
      namespace: "x",
      verb: "list",
      group: "apps",
      version: "v1",
      resource: "deployments",
      fieldSelector: { requirements: [{ key: "metadata.name", operator: "In", values: ["a"] }] },
      labelSelector: {
        requirements: [
          { key: "app", operator: "In", values: ["a", "b"] },
          { key: "old", operator: "DoesNotExist" },
        ],
      },
    },
    user: "ann",
    groups: ["devs"],
    uid: "7",
  });
  const first = choose()[1];
  const asRoot = await first?.({ ...question, user: { name: "root", groups: [] } });
  assert.deepEqual([asRoot?.decision, specs.length], ["none", 1], "it is not asked about root");
  status = { allowed: false, denied: true, reason: "no" };
  assert.equal(await ask("get"), "deny no");
  status = { allowed: true, denied: true };
  assert.match(await ask("create"), /^deny the authorization webhook "first" cannot be asked/);
  status = 400;
  assert.match(await ask("patch"), /^deny the authorization webhook/);
  place.file("authorization.yaml", config("NoOpinion"));
  await clock.advance(60_000);
  assert.equal(await ask("patch"), "none");
  assert.match(
    await metrics.text(),
    /^apiserver_authorization_config_controller_automatic_reloads_total\{status="success"\} 1$/m,
  );
});

test("a kubectl that shows a token of an issuer, or of a credential plugin, is who the token says", async (t) => {
  if (spawnSync("kubectl", ["version", "--client"]).status !== 0) return t.skip("kubectl is not installed");
  const lines: string[] = [];
  const log = createLog({ clock: systemClock, level: "debug", write: (line) => lines.push(line) });
  const { url, ca, file, folder, sign } = await issuer(t);
  const flags = [`--oidc-issuer-url=${url}`, "--oidc-client-id=us", `--oidc-ca-file=${file("issuer-ca.crt", ca)}`];
  const { signal } = new AbortController();
  const { tokens } = tokenIssuers(parseFlags(tokenIssuerFlags, flags).flags, {
    clock: systemClock,
    log,
    signal,
    audiences,
    ownIssuers: [],
  });
  const server = await testServer({ authenticators: [], tokens: [], remoteTokens: tokens, log });
  t.after(() => server[Symbol.asyncDispose]());
  const certificates = new Certificates(folder, systemClock);
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1", "localhost"] });
  const front = httpsFront({ ...serving, clientCa: undefined, handler: server.server.handle, log: silentLog });
  const port = await front.listen(0, "127.0.0.1");
  t.after(() => front.close(1000));
  const token = await sign({ iss: url, aud: "us", exp: Math.floor(systemClock.now() / 1000) + 600, sub: "ann" });
  const plugin = file(
    "plugin.sh",
    `#!/bin/sh\necho '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"${token}"}}'\n`,
  );
  spawnSync("chmod", ["+x", plugin]);
  const users = {
    token: `{token: "${token}"}`,
    exec: `{exec: {apiVersion: client.authentication.k8s.io/v1, command: ${plugin}, interactiveMode: Never}}`,
  };
  for (const [name, user] of Object.entries(users)) {
    const path = file(
      name,
      `apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: "https://127.0.0.1:${port}", certificate-authority-data: ${Buffer.from(ca).toString("base64")}}}]\nusers: [{name: a, user: ${user}}]\n`,
    );
    const output = await new Promise<string>((resolve, reject) => {
      const child = spawn("kubectl", ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], {
        env: { PATH: process.env.PATH, HOME: folder, KUBECONFIG: path },
      });
      let text = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (part: string) => (text += part));
      child.on("error", reject).on("close", () => resolve(text));
    });
    assert.equal(output, `${url}#ann`, name);
  }
  assert.ok(!lines.join("\n").includes(token), "no token may be in the log");
});
