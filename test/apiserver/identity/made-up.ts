// Files and credentials that nobody gave out, for the suite in thousands and for a night in millions.
import assert from "node:assert/strict";
import fc from "fast-check";
import { readAdmissionConfiguration } from "#apiserver/admission/configuration-file.ts";
import { parseAuditPolicy } from "#apiserver/audit/policy.ts";
import { parseAuthenticationConfiguration } from "#apiserver/authentication/configuration.ts";
import { expressionCompiler } from "#apiserver/authentication/jwt/expressions.ts";
import { parseUserFile } from "#apiserver/authentication/user-file.ts";
import { abacAuthorizer, parseAbacPolicies } from "#apiserver/authorization/abac.ts";
import { parseAuthorizationConfiguration } from "#apiserver/authorization/configuration.ts";
import { matchConditionOf } from "#apiserver/authorization/match-condition.ts";
import { parseEncryptionConfiguration } from "#apiserver/encryption/configuration.ts";
import { claimedIssuerOf, tokenKeys } from "#apiserver/host/token-keys.ts";
import { parseKubeconfig, resolveContext } from "#client/kubeconfig.ts";

const words = fc.constantFrom(
  ...[
    "apiVersion",
    "kind",
    "rules",
    "level",
    "Metadata",
    "jwt",
    "issuer",
    "url",
    "https://a",
    "audiences",
    "claims.sub",
  ],
  ...[
    "authorizers",
    "type",
    "Webhook",
    "webhook",
    "timeout",
    "3s",
    "spec",
    "user",
    "group",
    "__proto__",
    "constructor",
  ],
  ...["audit.k8s.io/v1", "Policy", "apiserver.config.k8s.io/v1", "AuthenticationConfiguration", "matchConditions"],
  ...["AuthorizationConfiguration", "expression", "claimMappings", "username", "prefix", "", "*", "/", "-1", "null"],
  ...[
    "EncryptionConfiguration",
    "resources",
    "providers",
    "aesgcm",
    "kms",
    "keys",
    "name",
    "secret",
    "endpoint",
    "unix:///a",
  ],
  ...[
    "AdmissionConfiguration",
    "plugins",
    "configuration",
    "path",
    "EventRateLimit",
    "PodSecurity",
    "limits",
    "defaults",
  ],
);
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    words,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(words, tie("any"), { maxKeys: 4 }),
  ),
})).any;
const head = fc.constantFrom(
  { apiVersion: "audit.k8s.io/v1", kind: "Policy" },
  { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration" },
  { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration" },
  { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration" },
  { apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration" },
);
const file = fc.oneof(
  fc.string({ unit: "binary" }),
  value.map((one) => JSON.stringify(one)),
  fc.tuple(head, value).map(([names, one]) => JSON.stringify({ ...(typeof one === "object" ? one : {}), ...names })),
);

const readers: readonly ((text: string) => unknown)[] = [
  (text) => parseAuditPolicy(text, () => undefined),
  (text) => parseAuthenticationConfiguration(text, { expressions: expressionCompiler, ownIssuers: [] }),
  (text) => parseAuthorizationConfiguration(text, { compile: matchConditionOf }),
  (text) => parseEncryptionConfiguration(text),
  (text) => readAdmissionConfiguration("admission.yaml", () => text),
  (text) => parseUserFile(text, "token"),
  // A policy for somebody must never be one for a stranger.
  (text) => {
    const stranger = { name: "system:anonymous", groups: ["system:unauthenticated"] };
    const policies = parseAbacPolicies(text).filter(
      ({ user, group }) => user !== stranger.name && group !== stranger.groups[0],
    );
    const verdict = abacAuthorizer(policies)({ type: "path", user: stranger, verb: "get", path: "/" });
    assert.ok(!(verdict instanceof Promise) && verdict.decision === "none");
  },
];

/** Each reader takes the text or refuses it with an Error of its own, and never with one of the language. */
export const madeUpFiles = (numRuns: number): void =>
  fc.assert(
    fc.property(file, fc.nat(readers.length - 1), (text, i) => {
      try {
        readers[i]?.(text);
      } catch (error) {
        ownError(error);
      }
    }),
    { numRuns },
  );

function ownError(error: unknown): Error {
  assert.ok(error instanceof Error);
  const isFault = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  assert.ok(!isFault, error.stack);
  return error;
}

/** Files that hold secrets, each secret with this in it. */
const mark = "c2VjcmV0LW1hcms";
const keyFile = `kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [secrets, configmaps.apps]
  providers:
  - aesgcm:
      keys:
      - name: key1
        secret: ${mark}LW9mLTMyLWJ5dGVzLW9mLWFlc2djbQ==
      - {name: key2, secret: "${mark}LW9mLTMyLWJ5dGVzLW9mLWFlc2djbQ=="}
  - secretbox: {keys: [{name: key3, secret: ${mark}LW9mLTMyLWJ5dGVzLW9mLWFlc2djbQ==}]}
  - identity: {}
`;
const userFile = `${mark}1,ann,1,"devs,ops"\n${mark}2,ben,2\n"${mark}3",cat,3,devs\n`;
const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://a"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
users:
- name: a
  user:
    token: ${mark}1
    client-key-data: ${mark}2
- {name: b, user: {username: b, password: "${mark}3"}}
`;
const secretFiles: readonly (readonly [string, (text: string) => unknown])[] = [
  [keyFile, parseEncryptionConfiguration],
  [userFile, (text) => parseUserFile(text, "token")],
  [userFile, (text) => parseUserFile(text, "password")],
  [kubeconfig, (text) => resolveContext(parseKubeconfig(text, "webhook.yaml"), "webhook.yaml")],
];
const pieces = fc.oneof(
  fc.constantFrom(
    "\n",
    " ",
    "  ",
    ":",
    "{",
    "}",
    "[",
    "]",
    ",",
    '"',
    "'",
    "- ",
    "|",
    ">",
    "&a",
    "*a",
    "!!binary ",
    "#",
    "\t",
  ),
  words,
  fc.string({ unit: "binary", maxLength: 3 }),
);
const damage = fc.array(fc.record({ at: fc.nat(1000), cut: fc.nat(12), put: pieces }), { minLength: 1, maxLength: 4 });

/** Whatever people mistype in a file of secrets, the refusal, which goes to the log, tells none of them. */
export const mistypedSecrets = (numRuns: number): void =>
  fc.assert(
    fc.property(fc.constantFrom(...secretFiles), damage, ([file, read], edits) => {
      const text = edits.reduce((now, { at, cut, put }) => {
        const place = at % now.length;
        return now.slice(0, place) + put + now.slice(place + cut);
      }, file);
      try {
        read(text);
      } catch (error) {
        const { message, cause } = ownError(error);
        // The end of a secret whose beginning became a key is not looked for: any word could be one.
        assert.ok(!`${message} ${String(cause ?? "")}`.includes(mark), message);
      }
    }),
    { numRuns },
  );

const part = fc.oneof(
  fc.base64String({ maxLength: 60 }),
  value.map((one) => Buffer.from(JSON.stringify(one)).toString("base64url")),
);
const token = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.tuple(part, part, part).map((parts) => parts.join(".")),
  fc.tuple(fc.constantFrom("none", "HS256", "RS256", "ES256", "EdDSA"), value, part).map(([alg, claims, signature]) => {
    const encoded = [{ alg }, claims].map((one) => Buffer.from(JSON.stringify(one)).toString("base64url"));
    return [...encoded, signature].join(".");
  }),
);

/** No token that is made up is one of ours, whatever it says. */
export async function madeUpTokens(signingKey: string, numRuns: number): Promise<void> {
  const keys = tokenKeys(signingKey);
  await fc.assert(
    fc.asyncProperty(token, async (text) => {
      claimedIssuerOf(text);
      await assert.rejects(keys.verify(text), { name: "TokenError" });
    }),
    { numRuns },
  );
}
