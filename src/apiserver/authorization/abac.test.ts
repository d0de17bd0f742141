import assert from "node:assert/strict";
import { test } from "node:test";
import type { Question } from "#serving/authorization.ts";
import { abacAuthorizer, parseAbacPolicies } from "./abac.ts";

const file = `
# what people may do
{"user":"admin"}
{"user":"scheduler", "readonly": true, "resource": "pods"}
{"group":"*", "readonly": true, "namespace": "open"}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"bob","namespace":"x","resource":"deployments","apiGroup":"apps"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"ops","nonResourcePath":"/metrics*","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"carl","group":"ops","namespace":"*","resource":"*","apiGroup":"*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"namespace":"*","resource":"*","apiGroup":"*"}}
`;

function ask(text: string): boolean {
  const [who = "", verb = "", what = "", namespace] = text.split(" ");
  const [name = "", ...groups] = who.split("+");
  const known = name === "stranger" ? ["system:unauthenticated"] : ["system:authenticated"];
  const user = { name, groups: [...groups, ...known] };
  const [resource = "", group = ""] = what.split(".");
  const question: Question = what.startsWith("/")
    ? { type: "path", user, verb, path: what }
    : { type: "resource", user, verb, group, version: "v1", resource, namespace };
  const verdict = abacAuthorizer(parseAbacPolicies(file))(question);
  assert.ok(!(verdict instanceof Promise) && verdict.decision !== "deny");
  return verdict.decision === "allow";
}

for (const [text, isAllowed] of [
  ["admin delete pods x", true],
  ["admin create deployments.apps", true],
  ["admin get /anything", true],
  ["scheduler list pods", true],
  ["scheduler create pods x", false],
  ["scheduler list nodes", false],
  ["scheduler get /healthz", false],
  ["ann get secrets open", true],
  ["ann watch pods open", true],
  ["ann update pods open", false],
  ["ann get pods x", false],
  ["stranger get pods open", false],
  ["bob delete deployments.apps x", true],
  ["bob delete deployments x", false],
  ["bob delete deployments.apps y", false],
  ["dora+ops get /metrics/slis", true],
  ["dora+ops put /metrics", false],
  ["dora+ops get pods x", false],
  ["carl+ops delete nodes", true],
  ["carl delete nodes", false],
] as const)
  test(`ABAC: ${text} is ${isAllowed ? "allowed" : "not allowed"}`, () => assert.equal(ask(text), isAllowed));

for (const line of [
  "{",
  "[]",
  '{"user":7}',
  '{"readonly":"yes"}',
  '{"apiVersion":"v1","kind":"Policy","spec":{}}',
  '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy"}',
])
  test(`ABAC: the line ${line} is refused by its number`, () =>
    assert.throws(() => parseAbacPolicies(`{"user":"a"}\n${line}`), { message: "line 2" }));
