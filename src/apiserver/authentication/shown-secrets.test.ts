// Passwords and tokens by which nodes join: what is good, and all that is not.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { textToBase64 } from "#base/base64.ts";
import { manyAddresses, testServer } from "../testing.ts";
import { basicPasswords } from "./basic-passwords.ts";
import { parseAuthenticationConfiguration } from "./configuration.ts";

const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = { kind: "SelfSubjectReview", apiVersion: "authentication.k8s.io/v1" };

async function world(servesAnonymous: boolean | ((path: string) => boolean) = false) {
  const server = await testServer({
    authenticators: [basicPasswords('secret,ann,7,"devs,ops"\nother,bob,8')],
    bootstrapTokens: true,
    servesAnonymous,
    addressOf: manyAddresses(),
  });
  const who = async (authorization: string): Promise<string> => {
    const { code, json } = await server.call("POST", self, review, { authorization });
    if (code !== 201) return String(code);
    const { username, groups } = json.status.userInfo;
    return `${username} [${groups.join(" ")}]`;
  };
  return { server, who };
}

test("a name and its password are good, and nothing near them", async () => {
  const { server, who } = await world();
  await using _ = server;
  const basic = (text: string) => `Basic ${textToBase64(text)}`;
  assert.equal(await who(basic("ann:secret")), "ann [devs ops system:authenticated]");
  for (const shown of ["ann:secret2", "ann:secre", "ann:", "ann", ":secret", "bob:secret", "eve:secret", "", ":"])
    assert.equal(await who(basic(shown)), "401", shown);
  for (const header of ["Basic", "Basic ", "Basic %%%", "Basic YW5u OnNlY3JldA==", "Bearer secret", "Digest x"])
    assert.equal(await who(header), "401", header);
});

test("a token by which nodes join is good while its secret says so", async () => {
  const { server, who } = await world();
  await using _ = server;
  const admin = { authorization: `Basic ${textToBase64("ann:secret")}` };
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "kube-system" } }, admin);
  const usual = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": "system:bootstrappers:workers",
  };
  const path = "/api/v1/namespaces/kube-system/secrets";
  const write = async (
    id: string,
    changes: Readonly<Record<string, string>>,
    type = "bootstrap.kubernetes.io/token",
  ) => {
    const body = {
      metadata: { name: `bootstrap-token-${id}` },
      type,
      stringData: { ...usual, "token-id": id, ...changes },
    };
    const { code } = await server.call("POST", path, body, admin);
    assert.equal(code, 201);
  };
  await write("abcdef", {});
  await write("ended0", { expiration: "2025-12-31T23:59:59Z" });
  await write("lasts0", { expiration: "2026-01-01T00:00:01Z" });
  await write("unread", { expiration: "soon" });
  await write("unused", { "usage-bootstrap-authentication": "false" });
  await write("groups", { "auth-extra-groups": "system:masters" });
  await write("opaque", {}, "Opaque");
  const bearer = (id: string, secret = usual["token-secret"]) => who(`Bearer ${id}.${secret}`);
  const groups = "[system:bootstrappers system:bootstrappers:workers system:authenticated]";
  assert.equal(await bearer("abcdef"), `system:bootstrap:abcdef ${groups}`);
  assert.equal(await bearer("lasts0"), `system:bootstrap:lasts0 ${groups}`);
  for (const id of ["ended0", "unread", "unused", "groups", "opaque", "absent"])
    assert.equal(await bearer(id), "401", id);
  assert.equal(await bearer("abcdef", "0123456789abcdee"), "401");
  await server.clock.advance(1000);
  assert.equal(await bearer("lasts0"), "401");
  await server.call("DELETE", `${path}/bootstrap-token-abcdef`, undefined, admin);
  assert.equal(await bearer("abcdef"), "401");
});

test("strangers are served under the paths that a configuration names, and nowhere else", async () => {
  const { anonymous } = parseAuthenticationConfiguration(
    "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: true, conditions: [{path: /livez}]}",
    { expressions: { compile: () => assert.fail() }, ownIssuers: [] },
  );
  const { server } = await world((path) => anonymous?.paths.includes(path) ?? false);
  await using _ = server;
  assert.equal((await server.call("GET", "/livez")).code, 200);
  assert.equal((await server.call("GET", "/livez/ping")).code, 401);
  assert.equal((await server.call("GET", "/api/v1/pods")).code, 401);
});

test("no header that is made up lets anybody in, and none makes the server fail", async () => {
  const { server } = await world();
  await using _ = server;
  const scheme = fc.constantFrom("Bearer ", "Basic ", "bearer", "Basic", "");
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 80 }),
    fc.base64String({ maxLength: 80 }),
    fc.stringMatching(/^[a-z0-9]{6}\.[a-z0-9]{16}$/),
    fc.tuple(fc.base64String(), fc.base64String(), fc.base64String()).map((parts) => parts.join(".")),
  );
  await fc.assert(
    fc.asyncProperty(scheme, text, async (head, tail) => {
      const { code } = await server.call("GET", "/api/v1/namespaces", undefined, { authorization: `${head}${tail}` });
      assert.equal(code, 401);
    }),
    {
      numRuns: 3000,
      examples: [
        ["Bearer ", "__proto__"],
        ["Bearer ", "constructor"],
      ],
    },
  );
});

for (const [why, text, message] of [
  ["another kind", "kind: Policy", /expected an AuthenticationConfiguration/],
  ["an unknown field", "jwts: []", /unknown field "jwts"/],
  [
    "http",
    "jwt: [{issuer: {url: 'http://a', audiences: [b]}, claimMappings: {username: {claim: c, prefix: ''}}}]",
    /scheme must be https/,
  ],
  [
    "no audience",
    "jwt: [{issuer: {url: 'https://a'}, claimMappings: {username: {claim: c, prefix: ''}}}]",
    /at least one jwt/,
  ],
  [
    "no prefix",
    "jwt: [{issuer: {url: 'https://a', audiences: [b]}, claimMappings: {username: {claim: c}}}]",
    /prefix is required/,
  ],
  [
    "our own issuer",
    "jwt: [{issuer: {url: 'https://own', audiences: [b]}, claimMappings: {username: {claim: c, prefix: ''}}}]",
    /disallowed issuers/,
  ],
  ["conditions of nobody", "anonymous: {conditions: [{path: /a}]}", /enabled should be set/],
] as const)
  test(`a configuration of authentication with ${why} is refused`, () => {
    const head = "apiVersion: apiserver.config.k8s.io/v1\n";
    const kind = text.startsWith("kind") ? "" : "kind: AuthenticationConfiguration\n";
    const options = { expressions: { compile: () => assert.fail() }, ownIssuers: ["https://own"] };
    assert.throws(() => parseAuthenticationConfiguration(head + kind + text, options), message);
  });
