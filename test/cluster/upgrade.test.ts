// A cluster of real containers that an older checkout has started goes on with this one, under requests.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { RealCluster } from "./real-cluster.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The last one before other machines could join. */
const older = "dbe18c6184dccf3bd8eadb6623f26f0d6803dae2";

function hasCommit(): boolean {
  try {
    execFileSync("git", ["-C", root, "cat-file", "-e", `${older}^{commit}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The tree of that commit in a folder of its own, with the dependencies of this one. */
function checkOut(): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-older-"));
  const archive = execFileSync("git", ["-C", root, "archive", older], { maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** A copy of this checkout whose clusters do not start. */
function breakOne(): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-broken-"));
  for (const part of ["src", "manifests", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const command = join(folder, "src/cluster/commands/run-cluster.ts");
  const text = readFileSync(command, "utf8");
  const broken = text.replace("await runCluster(", 'throw new Error("it is broken"); await runCluster(');
  assert.notEqual(broken, text);
  writeFileSync(command, broken);
  return folder;
}

/** Asks without end, by a new connection each time. */
class Requests {
  answered = 0;
  readonly failures: string[] = [];
  readonly #url: string;
  #isOver = false;
  readonly #asking: readonly Promise<void>[];

  constructor(url: string, askers: number) {
    this.#url = url;
    this.#asking = Array.from({ length: askers }, () => this.#ask());
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#asking);
  }

  async #ask(): Promise<void> {
    while (!this.#isOver) {
      try {
        await once(this.#url);
        this.answered++;
      } catch (error) {
        this.failures.push(`${new Date().toISOString()} ${error}`);
      }
      await pause(10);
    }
  }
}

const once = (url: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const request = get(url, { agent: false, timeout: 10_000 }, (response) => {
      response.resume();
      response.on("end", () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`answered ${response.statusCode}`)),
      );
      response.on("error", reject);
    });
    request.on("timeout", () => request.destroy(new Error("no answer within 10 s")));
    request.on("error", reject);
  });

const web = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: {
        containers: [
          {
            name: "nginx",
            image: "knarr.local/nginx:1.0",
            // Whoever has not heard yet that the pod ends is still answered.
            lifecycle: { preStop: { sleep: { seconds: 3 } } },
            readinessProbe: { httpGet: { path: "/healthz", port: 80 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
};
const budget = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "web" },
  spec: { maxUnavailable: 1, selector: { matchLabels: { app: "web" } } },
};
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
};

test("an upgrade from an older checkout loses no request to a replicated service, and one that fails is undone", {
  skip: impossible || (!hasCommit() && `commit ${older} is not in this clone`),
}, async (t) => {
  const [folder, broken] = [checkOut(), breakOne()];
  t.after(() => {
    for (const path of [folder, broken]) rmSync(path, { recursive: true, force: true });
  });
  await using machine = new Machine();
  await using cluster = await RealCluster.plan(machine, { label: "u", nodes: 2 });
  const knarrOf = (checkout: string, ...args: readonly string[]) =>
    machine.run(process.execPath, [join(checkout, "src/main.ts"), ...args]);
  const begun = await knarrOf(folder, ...cluster.upArgs().filter((flag) => flag !== "--addons=none")); // it has none
  assert.equal(begun.code, 0, `${begun.out}${begun.err}`);
  const objects = join(machine.home, "web.json");
  writeFileSync(objects, JSON.stringify({ apiVersion: "v1", kind: "List", items: [web, budget, service] }));
  await machine.kubectl("apply", "-f", objects);
  await machine.kubectl("rollout", "status", "deployment", "web", "--timeout=180s");
  const ip = await machine.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}");
  const requests = new Requests(`http://${ip}/`, 4);
  t.after(() => requests.stop());
  while (requests.answered < 20) await pause(20);

  const failed = await knarrOf(broken, "upgrade", `--name=${cluster.name}`);
  assert.match(
    failed.err,
    /the upgrade failed; it runs with version 0\.1\.0 \(Kubernetes v1\.36\.\d+\) again: .*it is broken/,
  );
  assert.equal(failed.code, 1);

  const said = await machine.ok("upgrade", `--name=${cluster.name}`);
  assert.match(said, /went from 0\.1\.0 \(Kubernetes v1\.36\.\d+\) to 0\.1\.0/);
  assert.match(said, /^\d+ objects looked at, \d+ written anew\.$/m);
  assert.match(said, /^Drained and restarted: node-1, node-2\.$/m);
  const unschedulable = await machine.kubectl("get", "nodes", "-o", "jsonpath={.items[*].spec.unschedulable}");
  assert.equal(unschedulable.trim(), "");
  await machine.kubectl("rollout", "status", "deployment", "web", "--timeout=180s");
  await requests.stop();
  assert.deepEqual(requests.failures, [], `${requests.answered} were answered`);
});
