// Our kubectl beside a real one, in turns, against the same server: how long it takes to start, to list 5,000 pods, to apply 500 objects
// and to learn what a server serves, and how much memory it takes. The real one is the newest on this machine. KNARR_BENCH_ROUNDS=3
// takes fewer rounds, KNARR_BENCH_PODS=500 fewer pods.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ServerProcess } from "../test/apiserver/harness.ts";
import { findKubectls } from "../test/apiserver/kubectls.ts";
import { inLanes, median, type Report } from "./figure.ts";

const rounds = Number(process.env.KNARR_BENCH_ROUNDS ?? 7);
const podCount = Number(process.env.KNARR_BENCH_PODS ?? 5000);
const appliedCount = 500;
const appliedAgainCount = 50;
const launcher = fileURLToPath(new URL("../knarr", import.meta.url));

type Contender = "ours" | "real";

interface Cost {
  readonly seconds: number;
  /** Of the processor, in all threads. */
  readonly worked: number;
  readonly bytes: number;
}

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  /** How much longer than the real one it may take. */
  readonly atMost: number;
  /** Fewer than usual where the real one takes long. */
  readonly rounds?: number;
  /** Before each run. */
  readonly prepare?: (home: string) => void;
  /** Whether each run has a namespace of its own, where nothing is yet. */
  readonly isInNewNamespace?: boolean;
  readonly isMemoryTold?: boolean;
}

export async function run(report: Report): Promise<void> {
  const real = findKubectls().at(-1);
  if (!real) throw new Error("no kubectl was found to compare with");
  const root = mkdtempSync(join(tmpdir(), "knarr-bench-kubectl-"));
  const server = await ServerProcess.start({ flags: ["--disable-admission-plugins=ServiceAccount"] });
  try {
    await createPods(server);
    const manifest = join(root, "objects.yaml");
    writeFileSync(manifest, manifestText(appliedCount));
    const again = join(root, "again.yaml");
    writeFileSync(again, manifestText(appliedAgainCount));
    execFileSync(launcher, ["kubectl", "version", "--client"]); // makes the bundle
    const programs: Readonly<Record<Contender, readonly string[]>> = { ours: [launcher, "kubectl"], real: [real.path] };
    for (const one of cases(manifest, again)) {
      const costs: Record<Contender, Cost[]> = { ours: [], real: [] };
      for (let round = -1; round < Math.min(rounds, one.rounds ?? rounds); round++)
        for (const who of ["real", "ours"] as const) {
          const home = join(root, who);
          one.prepare?.(home);
          const place = one.isInNewNamespace ? [`--namespace=${who}-${one.rounds}-${round + 1}`] : [];
          for (const flag of place) createNamespace(real.path, flag.slice("--namespace=".length), server.kubeconfig);
          const cost = timed([...programs[who], ...one.args, ...place], home, server.kubeconfig);
          if (round >= 0) costs[who].push(cost);
        }
      tell(report, one, costs);
    }
  } finally {
    await server[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  }
}

const cases = (manifest: string, again: string): readonly Case[] => [
  { name: "start (version --client)", args: ["version", "--client"], atMost: 1.5, isMemoryTold: true },
  // A process that speaks TLS for the first time spends 30 ms on it that a compiled program does not.
  { name: "discovery, cold (api-resources)", args: ["api-resources"], atMost: 2, prepare: forget },
  { name: "discovery, warm (api-resources --cached)", args: ["api-resources", "--cached"], atMost: 1.5 },
  { name: `get of ${podCount} pods as a table`, args: ["get", "pods"], atMost: 1, isMemoryTold: true },
  { name: `get of ${podCount} pods as YAML`, args: ["get", "pods", "-o", "yaml"], atMost: 1, isMemoryTold: true },
  {
    name: `apply of ${appliedCount} new objects`,
    args: ["apply", "-f", manifest],
    atMost: 1,
    rounds: 3,
    isInNewNamespace: true,
  },
  // Fewer, since a real one takes many times as long for an object that is there already.
  { name: `apply of ${appliedAgainCount} objects again`, args: ["apply", "-f", again], atMost: 1, rounds: 1 },
];

const createNamespace = (kubectl: string, name: string, kubeconfig: string): void => {
  execFileSync(kubectl, ["create", "namespace", name], { env: { KUBECONFIG: kubeconfig } });
};

const forget = (home: string): void => rmSync(join(home, ".kube"), { recursive: true, force: true });

function tell(report: Report, { name, atMost, isMemoryTold }: Case, costs: Readonly<Record<Contender, Cost[]>>): void {
  const seconds = (who: Contender) => median(costs[who].map((cost) => cost.seconds));
  const bytes = (who: Contender) => median(costs[who].map((cost) => cost.bytes));
  report({ name: `${name}: the real one`, value: seconds("real"), unit: "s" });
  report({ name: `${name}: ours`, value: seconds("ours"), unit: "s" });
  const worked = (who: Contender) => median(costs[who].map((cost) => cost.worked));
  report({ name: `${name}: processor time, ours / real`, value: worked("ours") / worked("real"), unit: "×" });
  report({ name: `${name}: ours / real`, value: seconds("ours") / seconds("real"), unit: "×", goal: { atMost } });
  if (isMemoryTold)
    report({
      name: `${name}: memory, ours / real`,
      value: bytes("ours") / bytes("real"),
      unit: "×",
      goal: { atMost: 2 },
    });
}

/** Throws if it fails. */
function timed(line: readonly string[], home: string, kubeconfig: string): Cost {
  const began = performance.now();
  const { status, stderr, error } = spawnSync("/usr/bin/time", ["-f", "\n%U %S %M", ...line], {
    env: { PATH: process.env.PATH, HOME: home, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (error) throw error;
  const seconds = (performance.now() - began) / 1000;
  const [, user = "", system = "", kilobytes = ""] = /(\S+) (\S+) (\d+)\n$/.exec(stderr) ?? [];
  if (status !== 0) throw new Error(`${line.join(" ")} ended with ${status}: ${stderr}`);
  return { seconds, worked: Number(user) + Number(system), bytes: Number(kilobytes) * 1024 };
}

async function createPods(server: ServerProcess): Promise<void> {
  const [ca, cert, key] = (["ca.crt", "admin.crt", "admin.key"] as const).map((name) =>
    readFileSync(server.file(name)),
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 32, ca, cert, key });
  const send = (body: string) =>
    new Promise<void>((done, fail) => {
      const sent = request(
        `${server.url}/api/v1/namespaces/default/pods`,
        { method: "POST", agent, headers: { "content-type": "application/json" } },
        (answer) => {
          answer.resume();
          answer.once("end", () =>
            answer.statusCode === 201 ? done() : fail(new Error(`status ${answer.statusCode}`)),
          );
        },
      );
      sent.once("error", fail);
      sent.end(body);
    });
  await inLanes(podCount, (i) => send(JSON.stringify(podNumbered(i))));
  agent.destroy();
}

const podNumbered = (i: number) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `web-${i}`, labels: { app: "web", index: String(i) }, annotations: { note: `pod number ${i}` } },
  spec: {
    containers: ["main", "side"].map((name) => ({
      name,
      image: `registry.example/${name}:1.${i % 7}`,
      args: ["--port=8080", `--index=${i}`],
      env: [{ name: "INDEX", value: String(i) }],
      ports: [{ containerPort: 8080 }],
      resources: { requests: { cpu: "10m", memory: "16Mi" } },
    })),
  },
});

const manifestText = (count: number): string =>
  Array.from({ length: count }, (_, i) =>
    [
      "---",
      "apiVersion: v1",
      "kind: ConfigMap",
      "metadata:",
      `  name: applied-${i}`,
      "data:",
      `  index: "${i}"`,
      "",
    ].join("\n"),
  ).join("");
