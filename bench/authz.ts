// What it takes to decide who may, and to record it: a decision of RBAC among many roles and bindings, and a pod's creation with and without an
// audit log at level Metadata. Processor time, since other things run on the machine, too.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { Client } from "#client/client.ts";
import type { Authorize, Question } from "#serving/authorization.ts";
import { comparePairs, creates, rounds } from "./apiserver/pairs.ts";
import { compare, inLanes, type Report } from "./figure.ts";

export async function run(report: Report): Promise<void> {
  await decisions(report);
  await audited(report);
}

const roles = 1000;
const bindings = 5000;

async function decisions(report: Report): Promise<void> {
  let decide: Authorize | undefined;
  await using server = await testServer({
    authorizers: ({ rbac }) => {
      decide = rbac;
      return [() => ({ decision: "allow" })];
    },
  });
  const { signal } = new AbortController();
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "bench/1", signal });
  const rule = (i: number) => ({ apiGroups: ["apps"], resources: [`things${i}`], verbs: ["get", "list"] });
  await inLanes(roles, (i) =>
    i % 2 === 0
      ? client.create(ClusterRole, { metadata: { name: `r${i}` }, rules: [rule(i)] })
      : client.create(Role, { metadata: { name: `r${i}`, namespace: `n${i % 50}` }, rules: [rule(i)] }),
  );
  const apiGroup = "rbac.authorization.k8s.io";
  await inLanes(bindings, (i) => {
    const subjects = [{ apiGroup, kind: i % 3 === 0 ? "Group" : "User", name: `s${i % 500}` }];
    const role = i % roles;
    return role % 2 === 0
      ? client.create(ClusterRoleBinding, {
          metadata: { name: `b${i}` },
          roleRef: { apiGroup, kind: "ClusterRole", name: `r${role}` },
          subjects,
        })
      : client.create(RoleBinding, {
          metadata: { name: `b${i}`, namespace: `n${role % 50}` },
          roleRef: { apiGroup, kind: "Role", name: `r${role}` },
          subjects,
        });
  });
  const question = (i: number): Question => ({
    type: "resource",
    user: { name: `s${i % 500}`, groups: [`s${(i * 3) % 500}`, "system:authenticated"] },
    verb: "get",
    group: "apps",
    version: "v1",
    resource: `things${i % roles}`,
    namespace: `n${i % 50}`,
    name: "x",
  });
  const questions = Array.from({ length: 1000 }, (_, i) => question(i * 7));
  let next = 0;
  const { decision } = compare({ decision: () => decide?.(questions[next++ % questions.length] as Question) });
  report({
    name: `decision among ${roles} roles and ${bindings} bindings`,
    value: decision,
    unit: "µs",
    goal: { atMost: 20 },
  });
}

async function audited(report: Report): Promise<void> {
  const log = (folder: string) => join(folder, "audit.log");
  const costs = await comparePairs({
    flags(folder) {
      const policy = join(folder, "policy.yaml");
      writeFileSync(policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n");
      return [`--audit-policy-file=${policy}`, `--audit-log-path=${log(folder)}`];
    },
    check(folder) {
      const events = readFileSync(log(folder), "utf8").split("\n").length;
      if (events < rounds * creates) throw new Error(`only ${events} events were recorded`);
    },
  });
  report({ name: "create a pod without audit", value: costs.without, unit: "µs" });
  report({ name: "create a pod with audit at Metadata", value: costs.with, unit: "µs" });
  report({ name: "what audit adds", value: costs.added, unit: "%", goal: { atMost: 10 } });
}
