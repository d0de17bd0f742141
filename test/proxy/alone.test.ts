// `knarr proxy` in a process of its own, beside an API server, in a network namespace that no packet can leave.
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { impossible, TestNode } from "./namespace.ts";

const program = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const pod = "10.244.0.1";

const objects = `apiVersion: v1
kind: Node
metadata: { name: n1 }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec: { clusterIP: 10.96.0.80, ports: [{ port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: default, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [${pod}], nodeName: n1 }]
ports: [{ name: "", port: 8080 }]
`;

class Programs implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-alone-"));
  readonly #namespace: string;
  readonly #running: ChildProcess[] = [];
  /** The end of what all of them said. */
  log = "";

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  start(...args: readonly string[]): ChildProcess {
    const child = spawn("ip", ["netns", "exec", this.#namespace, process.execPath, program, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.log = `${this.log}${text}`.slice(-4_000);
    });
    this.#running.push(child);
    return child;
  }

  run(...command: readonly string[]): string {
    return execFileSync("ip", ["netns", "exec", this.#namespace, ...command], { encoding: "utf8", stdio: "pipe" });
  }

  succeeds(...command: readonly string[]): boolean {
    try {
      this.run(...command);
      return true;
    } catch {
      return false; // it is asked again
    }
  }

  async until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
    for (let looks = 0; !(await check()); looks++) {
      assert.ok(
        looks < 600 && this.#running.every(({ exitCode }) => exitCode === null || exitCode === 0),
        `${what}: ${this.log}`,
      );
      await pause(100);
    }
  }

  async end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill();
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) await this.end(child);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

test("knarr proxy carries traffic by its configuration, tells how it is, changes modes and cleans up", {
  skip: impossible,
}, async () => {
  await using node = await TestNode.make([`${pod}/32`, "192.168.77.1/32"]);
  await using programs = new Programs(node.name);
  const { folder } = programs;
  programs.start(
    "apiserver",
    "--store=memory",
    "--secure-port=6443",
    "--bind-address=127.0.0.1",
    `--cert-dir=${folder}`,
  );
  const kubeconfig = `--kubeconfig=${join(folder, "admin.kubeconfig")}`;
  await programs.until("the API server serves", () => programs.succeeds("kubectl", kubeconfig, "get", "--raw=/readyz"));
  writeFileSync(join(folder, "objects.yaml"), objects);
  programs.run("kubectl", kubeconfig, "apply", "--validate=false", "-f", join(folder, "objects.yaml"));
  const config = join(folder, "proxy.yaml");
  writeFileSync(
    config,
    `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: { kubeconfig: ${join(folder, "admin.kubeconfig")} }
clusterCIDR: 10.244.0.0/16
mode: ""
`,
  );
  const first = programs.start("proxy", `--config=${config}`, "--hostname-override=n1");
  const answers = async () => (await node.ask("10.96.0.80", 80)) === pod;
  await programs.until("iptables rules lead to the endpoint", answers);
  const get = (port: number, path: string) =>
    programs.run("curl", "-sS", "-w", " %{http_code}", `http://127.0.0.1:${port}${path}`);
  assert.match(get(10_256, "/healthz"), /"nodeEligible":true,"healthy":true.* 200$/);
  assert.match(get(10_256, "/livez"), /"healthy":true.* 200$/);
  assert.equal(get(10_249, "/proxyMode"), "iptables 200");
  const metrics = get(10_249, "/metrics");
  assert.match(metrics, /^kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} [1-9]/m);
  assert.match(metrics, /^kubeproxy_proxy_healthz_total\{code="200"\} 1$/m);
  await programs.end(first);
  assert.ok(await answers(), "rules stay when the process ends");
  assert.match(programs.run("iptables-save"), /KUBE-SVC-/);

  for (const mode of ["nftables", "userspace"]) {
    const next = programs.start("proxy", kubeconfig, `--proxy-mode=${mode}`, "--hostname-override=n1");
    const isThere = () => programs.succeeds("curl", "-sfS", "http://127.0.0.1:10249/proxyMode");
    await programs.until(`${mode} serves`, isThere);
    const own = mode === "nftables" ? /knarr-proxy/ : /REDIRECT/;
    const rules = () => `${programs.run("nft", "list", "tables")}${programs.run("iptables-save")}`;
    await programs.until(`${mode} has its rules`, () => own.test(rules()));
    await programs.until(`${mode} leads to the endpoint`, answers);
    if (mode === "nftables") assert.doesNotMatch(rules(), /KUBE-SVC-/, "what the mode before left is gone");
    else assert.doesNotMatch(rules(), /knarr-proxy/, "what the mode before left is gone");
    await programs.end(next);
  }
  assert.match(programs.run(process.execPath, program, "proxy", "--cleanup"), /Nothing of any proxy mode is left/);
  assert.doesNotMatch(`${programs.run("nft", "list", "tables")}${programs.run("iptables-save")}`, /knarr-proxy|KUBE-/);
  assert.equal(await answers(), false);
});
