// Files and credentials that nobody gave out, for the suite in thousands and for a night in millions.
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseAuditPolicy } from "#apiserver/audit/policy.ts";
import { parseAuthenticationConfiguration } from "#apiserver/authentication/configuration.ts";
import { expressionCompiler } from "#apiserver/authentication/jwt/expressions.ts";
import { parseUserFile } from "#apiserver/authentication/user-file.ts";
import { abacAuthorizer, parseAbacPolicies } from "#apiserver/authorization/abac.ts";
import { parseAuthorizationConfiguration } from "#apiserver/authorization/configuration.ts";
import { matchConditionOf } from "#apiserver/authorization/match-condition.ts";
import { claimedIssuerOf, tokenKeys } from "#apiserver/host/token-keys.ts";

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
        assert.ok(error instanceof Error);
        assert.ok(
          !(error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError),
          error.stack,
        );
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
