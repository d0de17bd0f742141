// What our kubectl has beyond upstream's, and live names for shells, against a server of ours; logs and metrics against a server of the test.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { ServerProcess } from "../apiserver/harness.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { ourProgram } from "./ours.ts";
import { Running, run } from "./running.ts";

const configMap = (name: string, owner?: { readonly name: string; readonly uid: string }) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...(owner && { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", ...owner }] }) },
});

test("with a server of ours", async (t) => {
  await using server = await ServerProcess.start({ flags: ["--disable-admission-plugins=ServiceAccount"] });
  const home = mkdtempSync(join(tmpdir(), "knarr-beyond-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const env = { HOME: home, KUBECONFIG: server.kubeconfig, PATH: process.env.PATH };
  const ours = (line: string) => run(line.split(" "), { env, cwd: home });
  const create = async (object: object) => {
    const made = await run(["create", "-f", "-", "-o", "jsonpath={.metadata.uid}"], {
      env,
      cwd: home,
      input: JSON.stringify(object),
    });
    assert.equal(made.code, 0, made.stderr);
    return made.stdout;
  };

  await t.test("get --tree shows owners with what they own", async () => {
    const root = { name: "root", uid: await create(configMap("root")) };
    const middle = { name: "middle", uid: await create(configMap("middle", root)) };
    await create(configMap("leaf", middle));
    await create(configMap("other", root));
    const { stdout, stderr } = await ours("get configmap root --tree");
    assert.deepEqual(
      stdout.split("\n").map((line) => line.trimEnd().replace(/\s+\S+$/, "")),
      [
        "NAME                 READY   STATUS",
        "configmap/root",
        "├─configmap/middle",
        "│ └─configmap/leaf",
        "└─configmap/other",
        "",
      ],
      stderr,
    );
    assert.match((await ours("get configmap root --tree -o yaml")).stderr, /cannot be specified together/);
  });

  await t.test("several types are watched as one view on a terminal, and refused elsewhere", async () => {
    assert.match((await ours("get configmaps,secrets -w")).stderr, /single resource type/);
    let shown = "";
    const stdout = {
      isTTY: true,
      columns: 100,
      rows: 40,
      write: (text: string | Uint8Array) => (shown += String(text)),
    };
    await using view = new Running(["get", "configmaps,secrets", "-w"], { env, cwd: home, io: { stdout } });
    const until = async (pattern: RegExp) => {
      while (!pattern.test(shown.slice(shown.lastIndexOf("\x1b[H")))) {
        await new Promise((wake) => setImmediate(wake));
        if (view.stderr !== "") assert.fail(view.stderr);
      }
    };
    await until(/configmap\/root/);
    await create({ apiVersion: "v1", kind: "Secret", metadata: { name: "fresh" } });
    await until(/configmap\/root[\s\S]*secret\/fresh/);
    await ours("delete secret fresh");
    await until(/^(?![\s\S]*secret\/fresh)/);
  });

  await t.test("shells get names of the server", async () => {
    const lines = async (line: string) => (await ours(`__completeNoDesc ${line}`)).stdout.trim().split("\n");
    assert.deepEqual(await lines("get configmaps ro"), ["root", ":4"]);
    assert.deepEqual(await lines("get configmaps/ro"), ["configmaps/root", ":4"]);
    assert.deepEqual(await lines("describe cm root mid"), ["middle", ":4"]);
    assert.deepEqual(await lines("get configm"), ["configmaps", ":4"]);
    assert.deepEqual(await lines("get pods -n kube-s"), ["kube-system", ":4"]);
    assert.deepEqual(await lines("get pods --namespace=kube-s"), ["--namespace=kube-system", ":4"]);
  });

  await t.test("why and trace are commands of it, as a program of its own", async () => {
    using program = ourProgram();
    const kubectl = (...args: string[]) => promisify(execFile)(program.path, args, { env, encoding: "utf8" });
    assert.match((await kubectl("why", "configmap/root", "-n", "default")).stdout, /root/);
    assert.match((await kubectl("trace", "configmap/root")).stdout, /create configmaps\/root/);
    assert.match((await kubectl("--help")).stdout, / why +Say why/);
  });
});

/** A server that answers by path. */
async function stand(answers: Readonly<Record<string, (asked: IncomingMessage, response: ServerResponse) => void>>) {
  const server = createServer((asked, response) => {
    const path = (asked.url ?? "").split("?")[0] ?? "";
    const answer = answers[`${path}${asked.url?.includes("watch=true") ? "?watch" : ""}`];
    if (answer) return answer(asked, response);
    response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const json = (value: object) => (_asked: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};

const runningPod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", uid: name, labels: { app: "web" } },
  spec: { containers: [{ name: "main" }] },
  status: { phase: "Running", containerStatuses: [{ name: "main", restartCount: 0, state: { running: {} } }] },
});

const coreResources = {
  "/api": json({ kind: "APIVersions", versions: ["v1"] }),
  "/apis": json({
    kind: "APIGroupList",
    groups: ["apps/v1", "metrics.k8s.io/v1beta1"].map((groupVersion) => {
      const [name = "", version = ""] = groupVersion.split("/");
      return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
    }),
  }),
  "/api/v1": json({
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [{ name: "pods", singularName: "pod", kind: "Pod", namespaced: true, verbs: ["get", "list"] }],
  }),
  "/apis/apps/v1": json({
    kind: "APIResourceList",
    groupVersion: "apps/v1",
    resources: [
      {
        name: "deployments",
        singularName: "deployment",
        kind: "Deployment",
        namespaced: true,
        verbs: ["get", "list"],
        shortNames: ["deploy"],
      },
    ],
  }),
  "/apis/metrics.k8s.io/v1beta1": json({
    kind: "APIResourceList",
    groupVersion: "metrics.k8s.io/v1beta1",
    resources: [],
  }),
};

test("logs of a deployment go on with the pod that replaces the first", async () => {
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { matchLabels: { app: "web" } } },
  };
  let watcher: ServerResponse | undefined;
  const send = (type: string, object: object) => watcher?.write(`${JSON.stringify({ type, object })}\n`);
  const log =
    (text: string, then: () => void = () => undefined) =>
    (_asked: IncomingMessage, response: ServerResponse) => {
      response.writeHead(200);
      response.end(text, then);
    };
  using server = await stand({
    ...coreResources,
    "/apis/apps/v1/namespaces/default/deployments/web": json(deployment),
    "/api/v1/namespaces/default/pods": json({ kind: "PodList", items: [runningPod("web-1")] }),
    "/api/v1/namespaces/default/pods?watch": (_asked, response) => {
      watcher = response;
      response.writeHead(200);
      send("ADDED", runningPod("web-1"));
      send("DELETED", runningPod("web-1"));
      send("ADDED", runningPod("web-2"));
    },
    "/api/v1/namespaces/default/pods/web-1/log": log("from the first\n"),
    "/api/v1/namespaces/default/pods/web-2/log": log("from the second\n"),
  });
  const home = mkdtempSync(join(tmpdir(), "knarr-logs-"));
  try {
    await using running = new Running(["logs", "-f", "deploy/web", "-s", server.url], { env: { HOME: home } });
    await running.until(/^from the first\nfrom the second\n/);
    running.interrupt();
    assert.equal(await running.code, 130);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

const newest = findKubectls().at(-1);

test("top prints what a real kubectl prints", { skip: newest ? false : "no kubectl was found" }, async () => {
  const usage = (cpu: string, memory: string) => ({ cpu, memory });
  const node = (name: string) => ({
    metadata: { name },
    status: { allocatable: usage("2", "4Gi"), capacity: usage("4", "8Gi"), nodeInfo: {} },
  });
  const pod = (namespace: string, name: string, ...containers: [string, string, string][]) => ({
    metadata: { name, namespace },
    containers: containers.map(([own, cpu, memory]) => ({ name: own, usage: usage(cpu, memory) })),
  });
  const pods = [
    pod("default", "b", ["x", "1500u", "10Mi"], ["y", "2", "1Gi"]),
    pod("default", "a", ["z", "250m", "2000Mi"]),
  ];
  const all = [...pods, pod("another", "c", ["w", "0", "512Ki"])];
  const metrics = "/apis/metrics.k8s.io/v1beta1";
  using server = await stand({
    ...coreResources,
    [`${metrics}/nodes`]: json({
      kind: "NodeMetricsList",
      apiVersion: "metrics.k8s.io/v1beta1",
      items: ["n1", "n2"].map((name, i) => ({ metadata: { name }, usage: usage(`${i + 1}57m`, `${i + 1}Gi`) })),
    }),
    [`${metrics}/nodes/n1`]: json({
      kind: "NodeMetrics",
      apiVersion: "metrics.k8s.io/v1beta1",
      metadata: { name: "n1" },
      usage: usage("157m", "1Gi"),
    }),
    "/api/v1/nodes": json({ kind: "NodeList", apiVersion: "v1", items: [node("n1"), node("n2"), node("silent")] }),
    "/api/v1/nodes/n1": json({ kind: "Node", apiVersion: "v1", ...node("n1") }),
    [`${metrics}/namespaces/default/pods`]: json({
      kind: "PodMetricsList",
      apiVersion: "metrics.k8s.io/v1beta1",
      items: pods,
    }),
    [`${metrics}/namespaces/default/pods/a`]: json({
      kind: "PodMetrics",
      apiVersion: "metrics.k8s.io/v1beta1",
      ...pods[1],
    }),
    [`${metrics}/pods`]: json({ kind: "PodMetricsList", apiVersion: "metrics.k8s.io/v1beta1", items: all }),
    [`${metrics}/namespaces/empty/pods`]: json({
      kind: "PodMetricsList",
      apiVersion: "metrics.k8s.io/v1beta1",
      items: [],
    }),
    "/api/v1/namespaces/empty/pods": json({ kind: "PodList", apiVersion: "v1", items: [] }),
  });
  const home = mkdtempSync(join(tmpdir(), "knarr-top-"));
  writeFileSync(join(home, "config"), "");
  const env = { HOME: home, PATH: process.env.PATH, KUBECONFIG: join(home, "config") };
  try {
    for (const line of [
      "top node",
      "top node n1",
      "top node --sort-by=cpu --no-headers",
      "top node --sort-by=memory --show-capacity",
      "top pod",
      "top pod a",
      "top pod --containers",
      "top pod --containers -A --sort-by=memory",
      "top pod -A --sum",
      "top pod --sum --containers --no-headers --sort-by=cpu",
      "top pod -n empty",
    ]) {
      const args = [...line.split(" "), "-s", server.url];
      const real = await promisify(execFile)(newest?.path ?? "", args, { env, encoding: "utf8" });
      const ours = await run(args, { env });
      assert.deepEqual([ours.stdout, ours.stderr], [real.stdout, real.stderr], line);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
