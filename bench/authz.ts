// What it takes to decide who may, and to record it: a decision of RBAC among many roles and bindings, and a pod's creation with and without an
// audit log at level Metadata. Processor time, since other things run on the machine, too.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { parseAuditPolicy } from "#apiserver/audit/policy.ts";
import { AuditMetrics, blocking } from "#apiserver/audit/sink.ts";
import { auditLogFile } from "#apiserver/host/audit-log-file.ts";
import { type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { Client } from "#client/client.ts";
import type { Authorize, Question } from "#serving/authorization.ts";
import { compare, inLanes, median, type Report } from "./figure.ts";

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

const creates = 1500;
const rounds = 7;

async function audited(report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "knarr-authz-"));
  const log = await auditLogFile({
    path: join(folder, "audit.log"),
    format: "json",
    maxBytes: 100 * 1024 * 1024,
    maxBackups: 1,
    maxAgeMs: 0,
    compress: false,
    clock: systemClock,
    log: silentLog,
  });
  const metrics = new AuditMetrics(new MetricRegistry(), silentLog);
  const policy = parseAuditPolicy(
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]",
    () => undefined,
  );
  const admission = admissionOf({ disable: ["ServiceAccount"] });
  try {
    await using plain = await testServer({ admission, protect: (object) => object });
    await using recorded = await testServer({
      admission,
      protect: (object) => object,
      audit: { policy, sink: blocking(log, metrics, false), metrics },
    });
    const times = { plain: [] as number[], recorded: [] as number[] };
    const servers = { plain, recorded };
    for (const server of Object.values(servers))
      await server.call("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
    for (let round = 0; round <= rounds; round++)
      for (const name of ["plain", "recorded"] as const) {
        const took = await createPods(servers[name], `${name}-${round}`);
        if (round > 0) times[name].push(took); // the first is for the compiler
      }
    const [without, withLog] = [median(times.plain), median(times.recorded)];
    report({ name: "create a pod without audit, in process", value: without, unit: "µs" });
    report({ name: "create a pod with audit at Metadata, in process", value: withLog, unit: "µs" });
    report({ name: "what audit adds", value: (withLog / without - 1) * 100, unit: "%", goal: { atMost: 10 } });
  } finally {
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Microseconds of processor time each. */
async function createPods(server: TestServer, prefix: string): Promise<number> {
  const spec = { containers: [{ name: "a", image: "nginx", resources: { requests: { cpu: "10m" } } }] };
  const before = process.cpuUsage();
  await inLanes(creates, (i) =>
    server.call("POST", "/api/v1/namespaces/x/pods", { metadata: { name: `${prefix}-${i}` }, spec }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / creates;
}
