import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { CompactSign } from "jose";
import { tokenKeys } from "../host/token-keys.ts";
import { type TestServer, testServer } from "../testing.ts";

const pem = () =>
  generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
const { privateKey, publicKey } = pem();
const issuer = "https://issuer.example";
const audience = "https://kubernetes.default.svc";
const serviceAccounts = { keys: tokenKeys(privateKey), issuers: [issuer], extendExpiration: true };
const accounts = "/api/v1/namespaces/web/serviceaccounts";
const token = `${accounts}/robot/token`;
const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async function server(more: object = {}): Promise<TestServer & { uid: string }> {
  const s = await testServer({ serviceAccounts: { ...serviceAccounts, ...more }, users: {} });
  const { json } = await s.call("POST", accounts, { metadata: { name: "robot" } });
  return Object.assign(s, { uid: json.metadata.uid as string });
}

/** What the server answers to someone who shows this token. */
const use = async (s: TestServer, shown: string) => {
  const { code, json } = await s.call("POST", self, {}, { authorization: `Bearer ${shown}` });
  return code === 201 ? json.status.userInfo : code;
};
const make = async (s: TestServer, spec: object = {}, metadata: object = {}) => {
  const { code, json } = await s.call("POST", token, { metadata, spec });
  return code === 201 ? (json.status.token as string) : `${code} ${json.message}`;
};
const error = async (s: TestServer, shown: string, audiences?: readonly string[]) =>
  (await s.call("POST", reviews, { spec: { token: shown, ...(audiences && { audiences }) } })).json.status.error;
const claims = (shown: string) => JSON.parse(Buffer.from(shown.split(".")[1] as string, "base64url").toString());
const pod = { metadata: { name: "p" }, spec: { serviceAccountName: "robot", containers: [{ name: "c", image: "x" }] } };
const podRef = { kind: "Pod", apiVersion: "v1", name: "p" };

test("a token of a service account says who it is", async () => {
  await using s = await server();
  const { code, json } = await s.call("POST", token, {});
  assert.equal(code, 201);
  assert.deepEqual(
    [json.kind, json.metadata.name, json.spec, json.status.expirationTimestamp],
    [
      "TokenRequest",
      "robot",
      { audiences: [audience], expirationSeconds: 3600, boundObjectRef: null },
      "2026-01-01T01:00:00Z",
    ],
  );
  const { jti, ...said } = claims(json.status.token);
  const now = Date.parse("2026-01-01T00:00:00Z") / 1000;
  assert.deepEqual(said, {
    aud: [audience],
    exp: now + 3600,
    iat: now,
    iss: issuer,
    nbf: now,
    sub: "system:serviceaccount:web:robot",
    "kubernetes.io": { namespace: "web", serviceaccount: { name: "robot", uid: s.uid } },
  });
  assert.deepEqual(await use(s, json.status.token), {
    username: "system:serviceaccount:web:robot",
    uid: s.uid,
    groups: ["system:serviceaccounts", "system:serviceaccounts:web", "system:authenticated"],
    extra: { "authentication.kubernetes.io/credential-id": [`JTI=${jti}`] },
  });
});

test("requests for tokens are refused with upstream's words", async () => {
  await using s = await server();
  await s.call("POST", "/api/v1/namespaces/web/pods", {
    ...pod,
    metadata: { name: "other" },
    spec: { ...pod.spec, serviceAccountName: "default" },
  });
  const table: readonly [object, object, string][] = [
    [
      { expirationSeconds: 599 },
      {},
      '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    [
      { expirationSeconds: 2 ** 32 + 1 },
      {},
      '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
    [
      {},
      { name: "x" },
      '422 TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      {},
      { uid: "x" },
      `409 Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (x) does not match the UID of the service account (${s.uid})`,
    ],
    [{ boundObjectRef: podRef }, {}, '404 pods "p" not found'],
    [
      { boundObjectRef: { ...podRef, name: "other" } },
      {},
      '400 cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
    ],
    [
      { boundObjectRef: { ...podRef, kind: "ConfigMap" } },
      {},
      "400 cannot bind token to object of type /v1, Kind=ConfigMap",
    ],
  ];
  for (const [spec, metadata, expected] of table) assert.equal(await make(s, spec, metadata), expected);
  const missing = await s.call("POST", `${accounts}/nobody/token`, {});
  assert.equal(missing.json.message, 'serviceaccounts "nobody" not found');
});

test("a token ends with the time it was given, and a minute of difference between clocks", async () => {
  await using s = await server();
  const short = await make(s, { expirationSeconds: 600 });
  await s.clock.advance(659_000);
  assert.equal((await use(s, short)).username, "system:serviceaccount:web:robot");
  await s.clock.advance(2_000);
  assert.equal(await use(s, short), 401);
  assert.equal(await error(s, short), "service account token has expired");
});

test("a token ends with its service account, even if there is another of that name", async () => {
  await using s = await server();
  const shown = await make(s);
  await s.call("DELETE", `${accounts}/robot`);
  assert.equal(await error(s, shown), 'serviceaccounts "robot" not found');
  const { json } = await s.call("POST", accounts, { metadata: { name: "robot" } });
  assert.equal(await error(s, shown), `service account UID (${json.metadata.uid}) does not match claim (${s.uid})`);
  assert.equal(await use(s, shown), 401);
});

test("a token ends with the pod, secret or node it is bound to", async () => {
  await using s = await server();
  const table = [
    ["/api/v1/namespaces/web/pods", pod, podRef, "pod"],
    ["/api/v1/namespaces/web/secrets", { metadata: { name: "p" } }, { ...podRef, kind: "Secret" }, "secret"],
    ["/api/v1/nodes", { metadata: { name: "p" } }, { ...podRef, kind: "Node" }, "node"],
  ] as const;
  for (const [path, object, boundObjectRef, what] of table) {
    const { json } = await s.call("POST", path, object);
    const uid = json.metadata.uid as string;
    assert.match(
      await make(s, { boundObjectRef: { ...boundObjectRef, uid: "x" } }),
      /^409 .*The object might have been deleted and then recreated$/,
    );
    const shown = await make(s, { boundObjectRef: { ...boundObjectRef, uid } });
    assert.deepEqual(claims(shown)["kubernetes.io"][what], { name: "p", uid });
    assert.notEqual(await use(s, shown), 401);
    await s.call("DELETE", `${path}/p`);
    assert.equal(await use(s, shown), 401);
    assert.equal(await error(s, shown), "service account token has been invalidated");
    const again = await s.call("POST", path, object);
    assert.equal(
      await error(s, shown),
      `${what} UID (${again.json.metadata.uid}) does not match service account ${what} ref claim (${uid})`,
    );
  }
});

test("a token in a pod names its node, and lives a year where nobody chose a time", async () => {
  await using s = await server();
  const node = await s.call("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  await s.call("POST", "/api/v1/namespaces/web/pods", { ...pod, spec: { ...pod.spec, nodeName: "n1" } });
  const shown = await make(s, { boundObjectRef: podRef, expirationSeconds: 3607 });
  const { exp, iat, "kubernetes.io": own } = claims(shown);
  assert.deepEqual(
    [exp - iat, own.warnafter - iat, own.node],
    [365 * 24 * 3600, 3607, { name: "n1", uid: node.json.metadata.uid }],
  );
  const { extra } = await use(s, shown);
  assert.deepEqual(extra["authentication.kubernetes.io/node-name"], ["n1"]);
  assert.deepEqual(extra["authentication.kubernetes.io/pod-name"], ["p"]);
  const foreign = claims(await make(s, { boundObjectRef: podRef, expirationSeconds: 3607, audiences: ["vault"] }));
  assert.equal(foreign.exp - foreign.iat, 3607);
});

test("the longest life of a token can be bounded", async () => {
  await using s = await server({ maxExpirationSeconds: 3600 });
  const { headers, json } = await s.call("POST", token, { spec: { expirationSeconds: 7200 } });
  assert.deepEqual(headers?.warning, ['299 - "requested expiration of 7200 seconds shortened to 3600 seconds"']);
  assert.equal(json.spec.expirationSeconds, 3600);
});

test("a token for others is not good here, but can be reviewed for them", async () => {
  await using s = await server();
  const shown = await make(s, { audiences: ["vault", "x"] });
  assert.equal(await use(s, shown), 401);
  assert.equal(
    await error(s, shown),
    `token audiences ["vault" "x"] is invalid for the target audiences ["${audience}"]`,
  );
  const { json } = await s.call("POST", reviews, { spec: { token: shown, audiences: ["vault", "y"] } });
  assert.deepEqual([json.status.authenticated, json.status.audiences], [true, ["vault"]]);
});

test("hostile tokens are refused with 401", async () => {
  await using s = await server();
  const good = await make(s);
  const [header = "", payload = "", signature = ""] = good.split(".");
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const stranger = pem().privateKey;
  const forged = await tokenKeys(stranger).sign(claims(good));
  const kid = JSON.parse(Buffer.from(header, "base64url").toString()).kid;
  const claimsBytes = Buffer.from(payload, "base64url");
  const hmac = await new CompactSign(claimsBytes)
    .setProtectedHeader({ alg: "HS256", kid })
    .sign(Buffer.from(publicKey));
  const otherKeySameKid = await new CompactSign(claimsBytes)
    .setProtectedHeader({ alg: "ES256", kid })
    .sign(createPrivateKey(stranger));
  const hostile: Readonly<Record<string, string>> = {
    "no algorithm": `${encode({ alg: "none", kid })}.${payload}.`,
    "no algorithm, with signature": `${encode({ alg: "none" })}.${payload}.${signature}`,
    "public key as shared secret": hmac,
    "another key": forged,
    "another key under our id": otherKeySameKid,
    "unknown key id": `${encode({ alg: "ES256", kid: "x" })}.${payload}.${signature}`,
    "key id that is no text": `${encode({ alg: "ES256", kid: { a: 1 } })}.${payload}.${signature}`,
    "changed claims": `${header}.${encode({ ...claims(good), sub: "system:serviceaccount:kube-system:admin" })}.${signature}`,
    "no signature": `${header}.${payload}.`,
    "two parts": `${header}.${payload}`,
    "five parts": `${good}.a.b`,
    "not base64": `${header}.%%%.${signature}`,
    "not JSON": `${header}.${Buffer.from("{").toString("base64url")}.${signature}`,
    "JSON that is no object": `${header}.${encode([1])}.${signature}`,
    "deep JSON": `${header}.${Buffer.from("[".repeat(10_000)).toString("base64url")}.${signature}`,
    garbage: "garbage",
    "a megabyte": "a".repeat(1 << 20),
    "a megabyte of dots": ".".repeat(1 << 20),
    "a megabyte of claims": `${header}.${"a".repeat(1 << 20)}.${signature}`,
    "signed by us, without our claims": await serviceAccounts.keys.sign({ iss: issuer, aud: [audience] }),
    "signed by us, for all time": await serviceAccounts.keys.sign({ ...claims(good), exp: "never" }),
  };
  for (const [what, shown] of Object.entries(hostile)) assert.equal(await use(s, shown), 401, what);
  for (const authorization of ["Bearer", "Bearer ", "Basic YTpi", `Bearer ${good} x`])
    assert.equal((await s.call("GET", "/api", undefined, { authorization })).code, 401);
  assert.notEqual(await use(s, good), 401);
});

test("a token in a secret is good as long as the secret holds it", async () => {
  await using s = await server();
  const secrets = "/api/v1/namespaces/web/secrets";
  const said = {
    iss: "kubernetes/serviceaccount",
    sub: "system:serviceaccount:web:robot",
    "kubernetes.io/serviceaccount/namespace": "web",
    "kubernetes.io/serviceaccount/secret.name": "old",
    "kubernetes.io/serviceaccount/service-account.name": "robot",
    "kubernetes.io/serviceaccount/service-account.uid": s.uid,
  };
  const good = await serviceAccounts.keys.sign(said);
  const other = await serviceAccounts.keys.sign({ ...said, again: true });
  const ofAnother = await serviceAccounts.keys.sign({ ...said, sub: "system:serviceaccount:web:other" });
  assert.equal(await error(s, good), "Token has been invalidated");
  await s.call("POST", secrets, { metadata: { name: "old" }, data: { token: btoa(good) } });
  assert.equal((await use(s, good)).username, "system:serviceaccount:web:robot");
  const day = async () => (await s.call("GET", `${secrets}/old`)).json.metadata.labels;
  const today = new Date(s.clock.now()).toISOString().slice(0, 10);
  assert.deepEqual(await day(), { "kubernetes.io/legacy-token-last-used": today }, "the use is noted");
  const version = async () => (await s.call("GET", `${secrets}/old`)).json.metadata.resourceVersion;
  const before = await version();
  await Promise.all(Array.from({ length: 5 }, () => use(s, good)));
  assert.equal(await version(), before, "once a day is enough");
  assert.equal(await error(s, other), "Token does not match server's copy");
  assert.equal(await error(s, ofAnother), "sub claim is invalid");
  assert.notEqual(await error(s, good, ["vault"]), undefined);
  const merge = { "content-type": "application/merge-patch+json" };
  const label = (value: string | null) =>
    s.call(
      "PATCH",
      `${secrets}/old`,
      { metadata: { labels: { "kubernetes.io/legacy-token-invalid-since": value } } },
      merge,
    );
  await label("2026-01-01");
  assert.match(await error(s, good), /has been marked invalid/);
  await label(null);
  assert.equal(await error(s, good), undefined);
  await s.call("DELETE", `${accounts}/robot`);
  assert.equal(await error(s, good), 'serviceaccounts "robot" not found');
});

test("a page shows its token as a protocol of its WebSocket", async () => {
  const administrator = { name: "admin", groups: ["system:masters"] };
  await using s = await testServer({
    serviceAccounts,
    authenticators: [async ({ headers }) => (headers["x-admin"] ? administrator : undefined)],
  });
  const admin = { "x-admin": "yes" };
  await s.call("POST", accounts, { metadata: { name: "robot" } }, admin);
  const { json } = await s.call("POST", token, {}, admin);
  const upgrade = { connection: "Upgrade", upgrade: "websocket" };
  const show = async (protocols: string, headers: Readonly<Record<string, string>> = upgrade) => {
    const answer = await s.call("POST", self, {}, { "sec-websocket-protocol": protocols, ...headers });
    return answer.code === 201 ? answer.json.status.userInfo.username : answer.code;
  };
  const good: string = json.status.token;
  const shown = (text: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString("base64url")}`;
  const robot = "system:serviceaccount:web:robot";
  const other = "v5.channel.k8s.io";
  assert.equal(await show(`${other}, ${shown(good)}`), robot);
  assert.equal(await show(`${shown(good)},${other}`), robot);
  assert.equal(await show(`${other}, ${shown(`${good}x`)}`), 401);
  assert.equal(await show(`${other}, base64url.bearer.authorization.k8s.io.%%%`), 401);
  assert.equal(await show(shown(good)), 401, "no protocol is left to choose");
  assert.equal(await show(`${other}, ${shown(good)}, ${shown(good)}`), 401, "two tokens");
  assert.equal(await show(`${other}, ${shown(good)}`, {}), "system:anonymous", "not a WebSocket");
});

test("nothing of a refused token is logged or answered", async () => {
  const lines: string[] = [];
  const note = (message: string, fields?: object) => void lines.push(message + JSON.stringify(fields ?? {}));
  const log = { debug: note, info: note, warn: note, error: note };
  await using s = await testServer({ serviceAccounts, log: log as never });
  await s.call("POST", accounts, { metadata: { name: "robot" } });
  const good = await make(s);
  const answer = await s.call("GET", "/api/v1/pods", undefined, { authorization: `Bearer ${good}x` });
  assert.deepEqual([answer.code, answer.json.message, lines], [401, "Unauthorized", []]);
});

test("others can check our tokens by what we publish", async () => {
  await using s = await server();
  const configurationPath = "/.well-known/openid-configuration";
  s.server.system({ address: "192.0.2.10", port: 6443 });
  const configuration = await s.call("GET", configurationPath, undefined, { host: "evil.example" });
  assert.deepEqual(JSON.parse(configuration.text), {
    issuer,
    jwks_uri: "https://192.0.2.10:6443/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
  const keys = await s.call("GET", "/openid/v1/jwks");
  assert.equal(keys.headers?.["content-type"], "application/jwk-set+json");
  const [key] = JSON.parse(keys.text).keys;
  assert.deepEqual([key.use, key.kty, key.alg, key.d], ["sig", "EC", "ES256", undefined]);
  const [header = ""] = (await make(s)).split(".");
  assert.equal(JSON.parse(Buffer.from(header, "base64url").toString()).kid, key.kid);
});

test("keys can be changed: what an older one signed is believed while it is named", async () => {
  const fresh = tokenKeys(pem().privateKey, [publicKey]);
  await using s = await server({ keys: fresh });
  const { iss, aud, exp, iat, nbf, sub, jti, ...rest } = claims(await make(s));
  const old = await serviceAccounts.keys.sign({ iss, aud, exp, iat, nbf, sub, jti, ...rest });
  assert.equal((await use(s, old)).username, "system:serviceaccount:web:robot");
  assert.equal(fresh.keySet.keys.length, 2);
  assert.throws(
    () => tokenKeys(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }) as string),
    /RSA or elliptic/,
  );
});
