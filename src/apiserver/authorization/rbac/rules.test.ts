import assert from "node:assert/strict";
import { test } from "node:test";
import type { Question } from "#serving/authorization.ts";
import { describeRules, type Rule, ruleAllows, uncovered } from "./rules.ts";

const user = { name: "alice", groups: [] };
const ask = (verb: string, what: string, more: object = {}): Question => {
  if (what.startsWith("/")) return { type: "path", user, verb, path: what };
  const [resource = "", subresource] = what.split("/");
  return {
    type: "resource",
    user,
    verb,
    group: "",
    version: "v1",
    resource,
    ...(subresource && { subresource }),
    ...more,
  };
};

test("a rule allows what its verbs, groups, resources and names cover", () => {
  const pods: Rule = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] };
  const table: readonly [Rule, Question, boolean][] = [
    [pods, ask("get", "pods"), true],
    [pods, ask("list", "pods"), true],
    [pods, ask("delete", "pods"), false],
    [pods, ask("get", "pods/log"), false],
    [pods, ask("get", "services"), false],
    [pods, ask("get", "pods", { group: "metrics.k8s.io" }), false],
    [pods, ask("get", "/pods"), false],
    [{ ...pods, verbs: ["*"] }, ask("anything", "pods"), true],
    [{ ...pods, apiGroups: ["*"] }, ask("get", "pods", { group: "x" }), true],
    [{ ...pods, resources: ["*"] }, ask("get", "pods/log"), true],
    [{ ...pods, resources: ["pods/*"] }, ask("get", "pods/log"), false],
    [{ ...pods, resources: ["pods/*"] }, ask("get", "pods"), false],
    [{ ...pods, resources: ["*/scale"] }, ask("get", "deployments/scale"), true],
    [{ ...pods, resources: ["*/scale"] }, ask("get", "deployments"), false],
    [{ ...pods, resources: ["*/scale"] }, ask("get", "deployments/upscale"), false],
    [{ ...pods, resourceNames: ["web"] }, ask("get", "pods", { name: "web" }), true],
    [{ ...pods, resourceNames: ["web"] }, ask("get", "pods", { name: "db" }), false],
    [{ ...pods, resourceNames: ["web"] }, ask("list", "pods"), false],
    [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }, ask("get", "/healthz"), true],
    [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }, ask("get", "/healthz/etcd"), false],
    [{ verbs: ["get"], nonResourceURLs: ["/healthz/*"] }, ask("get", "/healthz/etcd"), true],
    [{ verbs: ["get"], nonResourceURLs: ["/healthz/*"] }, ask("get", "/healthz"), false],
    [{ verbs: ["get"], nonResourceURLs: ["/api*"] }, ask("get", "/apis"), true],
    [{ verbs: ["get"], nonResourceURLs: ["*"] }, ask("get", "/anything"), true],
    [{ verbs: ["get"], nonResourceURLs: ["*"] }, ask("post", "/anything"), false],
    [{ verbs: ["get"], nonResourceURLs: ["*"] }, ask("get", "pods"), false],
  ];
  for (const [rule, question, allowed] of table)
    assert.equal(ruleAllows(rule, question), allowed, `${JSON.stringify(rule)} ${JSON.stringify(question)}`);
});

test("what others do not cover is told in upstream's words", () => {
  const held: readonly Rule[] = [
    { verbs: ["get"], apiGroups: [""], resources: ["pods", "*/scale"] },
    { verbs: ["*"], nonResourceURLs: ["/healthz/*"] },
    { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: ["mine"] },
  ];
  const missing = (rule: Rule) => describeRules(uncovered(held, [rule]));
  assert.equal(missing({ verbs: ["get"], apiGroups: [""], resources: ["pods", "deployments/scale"] }), "");
  assert.equal(missing({ verbs: ["get"], nonResourceURLs: ["/healthz/etcd", "/healthz/*"] }), "");
  assert.equal(missing({ verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: ["mine"] }), "");
  assert.equal(
    missing({ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }),
    '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
  );
  assert.equal(
    missing({ verbs: ["get", "list", "watch"], apiGroups: ["", "apps"], resources: ["pods"], resourceNames: ["a"] }),
    [
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list" "watch"]}',
      '{APIGroups:["apps"], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list" "watch"]}',
    ].join("\n"),
  );
  assert.equal(
    missing({ verbs: ["get", "post"], nonResourceURLs: ["/metrics"] }),
    '{NonResourceURLs:["/metrics"], Verbs:["get"]}\n{NonResourceURLs:["/metrics"], Verbs:["post"]}',
  );
});
