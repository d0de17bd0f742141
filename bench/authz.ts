// What it takes to decide who may, and to record it: a decision of RBAC among many roles and bindings, and a pod's creation with and without an
// audit log at level Metadata. Processor time, since other things run on the machine, too.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { Client } from "#client/client.ts";
import type { Authorize, Question } from "#serving/authorization.ts";
import type { RawRequest } from "#wire/testing/raw-http2.ts";
import { Clients } from "./apiserver/load.ts";
import { type Keys, makeBundle, makeKeys, startKnarr } from "./apiserver/servers.ts";
import { compare, inLanes, median, type Report } from "./figure.ts";
import { pod } from "./schema.ts";

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

const creates = 100;
/** Short rounds in turn: what else the machine does falls on both alike. The first third is for the compiler. */
const rounds = 90;
/** What the compiler inlines differs from process to process, and with it the time: each pair of servers gives one ratio. */
const pairs = 5;

/** Two whole servers with a store on disk, one of which records every request at level Metadata. */
async function audited(report: Report): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "knarr-authz-"));
  const bundle = makeBundle();
  try {
    const keys = await makeKeys(folder(root, "keys"));
    const results: PairResult[] = [];
    for (let i = 0; i < pairs; i++) results.push(await auditedPair(bundle, keys, folder(root, `pair-${i}`)));
    const middle = (of: (result: PairResult) => number) => median(results.map(of));
    report({ name: "create a pod without audit", value: middle(({ plain }) => plain), unit: "µs" });
    report({ name: "create a pod with audit at Metadata", value: middle(({ recorded }) => recorded), unit: "µs" });
    report({
      name: "what audit adds",
      value: middle(({ plain, recorded }) => (recorded / plain - 1) * 100),
      unit: "%",
      goal: { atMost: 10 },
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
    rmSync(dirname(bundle), { recursive: true, force: true });
  }
}

function folder(parent: string, name: string): string {
  mkdirSync(join(parent, name));
  return join(parent, name);
}

/** Microseconds of the processor for one creation. */
interface PairResult {
  readonly plain: number;
  readonly recorded: number;
}

async function auditedPair(bundle: string, keys: Keys, root: string): Promise<PairResult> {
  const [policy, log] = [join(root, "policy.yaml"), join(root, "audit.log")];
  writeFileSync(policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n");
  const recording = [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`];
  const servers = {
    plain: await startKnarr(bundle, keys, [`--data-dir=${folder(root, "plain")}`]),
    recorded: await startKnarr(bundle, keys, [`--data-dir=${folder(root, "recorded")}`, ...recording]),
  };
  const clients = {
    plain: await Clients.connect(servers.plain, 4),
    recorded: await Clients.connect(servers.recorded, 4),
  };
  const times = { plain: [] as number[], recorded: [] as number[] };
  for (let round = 0; round < rounds; round++)
    for (const name of ["plain", "recorded"] as const) {
      await servers[name].usage();
      await clients[name].run({ streams: 8, count: creates, request: (i) => creation(round * creates + i) });
      const { cpuMs } = await servers[name].usage();
      if (round >= rounds / 3) times[name].push((cpuMs * 1000) / creates);
    }
  const events = readFileSync(log, "utf8").split("\n").length;
  if (events < rounds * creates) throw new Error(`only ${events} events were recorded`);
  for (const name of ["plain", "recorded"] as const) {
    clients[name].close();
    await servers[name].stop();
  }
  return { plain: median(times.plain), recorded: median(times.recorded) };
}

const creation = (i: number): RawRequest => ({
  method: "POST",
  path: "/api/v1/namespaces/default/pods",
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify({ ...pod("x"), metadata: { name: `bench-${i}`, labels: { app: "bench" } } })),
});
