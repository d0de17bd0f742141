// Callers who show what nobody gave them, to a server with every kind of credential: near misses of good ones, and things that look
// like one. None gets in, and nothing that they or others keep secret is in an answer, in the log or in the audit log.
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseAuditPolicy } from "#apiserver/audit/policy.ts";
import { AuditMetrics } from "#apiserver/audit/sink.ts";
import { basicPasswords } from "#apiserver/authentication/basic-passwords.ts";
import { staticTokens } from "#apiserver/authentication/token-authenticators.ts";
import { tokenKeys } from "#apiserver/host/token-keys.ts";
import { manyAddresses, type TestServer, testServer } from "#apiserver/testing.ts";
import { textToBase64 } from "#base/base64.ts";
import { ManualClock } from "#base/clock.ts";
import { createLog, silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { requestHeaderAuthenticator } from "#serving/host/request-header-authenticator.ts";
import { standardRequestHeaders } from "#serving/request-headers.ts";

const audience = "https://kubernetes.default.svc";
const staticToken = "token-of-ann-0123456789";
const password = "password-of-ben-0123456789";
const bootstrapToken = "abcdef.0123456789abcdef";
const admin = { authorization: `Bearer ${staticToken}` };

interface World {
  readonly server: TestServer;
  /** What the server has logged and audited since the last look. */
  takeLines(): string[];
  readonly tokens: readonly string[];
}

async function worldOf(signingKey: string): Promise<World & AsyncDisposable> {
  const lines: string[] = [];
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const server = await testServer({
    addressOf: manyAddresses(),
    log: createLog({ clock, level: "debug", write: (line) => lines.push(line) }),
    authenticators: [
      requestHeaderAuthenticator({ names: standardRequestHeaders, allowedNames: [] }, clock),
      basicPasswords(`${password},ben,2`),
    ],
    tokens: [staticTokens(`${staticToken},ann,1,system:masters`, [audience])],
    bootstrapTokens: true,
    serviceAccounts: { keys: tokenKeys(signingKey), issuers: ["https://issuer.example"], extendExpiration: true },
    servesAnonymous: false,
    audit: {
      policy: parseAuditPolicy("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]", assert.fail),
      sink: { take: (record) => lines.push(record.json) > 0, close: async () => undefined },
      metrics: new AuditMetrics(new MetricRegistry(), silentLog),
    },
  });
  const make = async (path: string, body: object) => {
    const { code, json } = await server.call("POST", path, body, admin);
    assert.equal(code, 201, JSON.stringify(json));
    return json;
  };
  for (const name of ["kube-system", "web"]) await make("/api/v1/namespaces", { metadata: { name } });
  await make("/api/v1/namespaces/kube-system/secrets", {
    metadata: { name: "bootstrap-token-abcdef" },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      "token-id": "abcdef",
      "token-secret": bootstrapToken.slice(7),
      "usage-bootstrap-authentication": "true",
    },
  });
  await make("/api/v1/namespaces/web/serviceaccounts", { metadata: { name: "robot" } });
  const { status } = await make("/api/v1/namespaces/web/serviceaccounts/robot/token", {});
  return {
    server,
    takeLines: () => lines.splice(0),
    tokens: [staticToken, bootstrapToken, status.token],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const edits = fc.array(
  fc.record({ at: fc.nat(400), cut: fc.nat(2), put: fc.stringMatching(/^[A-Za-z0-9._-]{0,2}$/) }),
  {
    minLength: 1,
    maxLength: 3,
  },
);
type Edits = typeof edits extends fc.Arbitrary<infer T> ? T : never;
const edited = (text: string, changes: Edits): string =>
  changes.reduce((now, { at, cut, put }) => {
    const place = at % (now.length + 1);
    return now.slice(0, place) + put + now.slice(place + cut);
  }, text);
/** The last character of base64 may have bits that mean nothing: two texts of the same bytes are the same token. */
const bytesOf = (token: string): string =>
  token
    .split(".")
    .map((part) => Buffer.from(part, "base64url").toString("hex"))
    .join(".");

type Shown = { readonly secret: string; readonly headers: Readonly<Record<string, string>> };
const bearer = (secret: string): Shown => ({ secret, headers: { authorization: `Bearer ${secret}` } });
const inProtocols = (secret: string): Shown => ({
  secret,
  headers: {
    upgrade: "websocket",
    connection: "Upgrade",
    "sec-websocket-protocol": `base64url.bearer.authorization.k8s.io.${Buffer.from(secret).toString("base64url")}, v4.channel.k8s.io`,
  },
});
const basic = (name: string, secret: string): Shown => ({
  secret,
  headers: { authorization: `Basic ${textToBase64(`${name}:${secret}`)}` },
});
/** Whoever has no certificate of a proxy may say what it likes, besides a token that is nobody's. */
const asProxy = (secret: string): Shown => ({
  secret,
  headers: {
    authorization: `Bearer ${secret}`,
    "x-remote-user": "ann",
    "x-remote-group": "system:masters",
    "impersonate-user": "ann",
  },
});

/** Something that is nobody's credential, and how it is shown. */
const shownBy = (tokens: readonly string[]): fc.Arbitrary<Shown> => {
  const good = [...tokens, password];
  const nearMiss = fc
    .tuple(fc.constantFrom(...good), edits)
    .map(([text, changes]) => edited(text, changes))
    .filter((text) => text !== "" && !good.some((one) => one === text || bytesOf(one) === bytesOf(text)));
  const splice = fc
    .tuple(fc.constantFrom(...tokens), fc.constantFrom(...tokens), fc.nat(200))
    .filter(([one, other]) => one !== other)
    .map(([one, other, at]) => one.slice(0, (at % (one.length - 1)) + 1) + other);
  const unlike = fc.stringMatching(/^[!-~]{8,80}$/);
  const secret = fc.oneof({ weight: 4, arbitrary: nearMiss }, splice, unlike);
  return fc.oneof(
    secret.map(bearer),
    secret.map(inProtocols),
    secret.map(asProxy),
    fc.tuple(fc.constantFrom("ben", "ann", "Ben", ""), secret).map(([name, text]) => basic(name, text)),
    // Another's secret, or the right one in the wrong place.
    fc.constantFrom(basic("ann", password), basic("ben", staticToken), bearer(password), bearer(`ben:${password}`)),
  );
};

/** Text of so few characters is found anywhere. */
const leastToFind = 10;

export async function madeUpCallers(signingKey: string, numRuns: number): Promise<void> {
  await using world = await worldOf(signingKey);
  const { server, tokens } = world;
  const kept = [...tokens.map((token) => token.slice(-16)), password];
  for (const token of tokens) {
    const { code } = await server.call("GET", "/api/v1/namespaces", undefined, bearer(token).headers);
    assert.equal(code, 200, "what is good is good");
  }
  const verify = ({ secret }: Shown, answer: string, lines: readonly string[]) => {
    assert.ok(lines.length > 0, "the request was audited");
    const secrets = [...kept, ...(secret.length < leastToFind ? [] : [secret])];
    for (const text of [answer, ...lines])
      for (const one of secrets) assert.ok(!text.includes(one), `${one} is in ${text}`);
  };
  world.takeLines();
  await fc.assert(
    fc.asyncProperty(shownBy(tokens), async (shown) => {
      const { code, text } = await server.call("GET", "/api/v1/namespaces", undefined, shown.headers);
      assert.equal(code, 401, JSON.stringify(shown));
      verify(shown, text, world.takeLines());
      const review = { spec: { token: shown.secret } };
      const { json } = await server.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review, admin);
      // A good token that was shown in the wrong place is good all the same.
      assert.equal(json.status?.authenticated === true, tokens.includes(shown.secret), JSON.stringify(shown));
      verify(shown, json.status.error ?? "", world.takeLines());
    }),
    { numRuns },
  );
}
