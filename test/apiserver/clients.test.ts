// Clients that nobody made for us: @kubernetes/client-node, curl and Debian's Python client.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { AppsV1Api, CoreV1Api, KubernetesObjectApi, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import { ServerProcess } from "./harness.ts";
import { configFrom, InformedMaps } from "./informed.ts";

const run = promisify(execFile);
const namespace = "default";

test("client-node creates, reads, lists, patches, replaces and deletes", async () => {
  await using server = await ServerProcess.start();
  const config = configFrom(server.kubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  const created = await core.createNamespacedConfigMap({
    namespace,
    body: { metadata: { name: "a", labels: { app: "web" } }, data: { n: "1" } },
  });
  assert.equal(created.metadata?.namespace, namespace);
  assert.ok(created.metadata?.creationTimestamp instanceof Date);
  await assert.rejects(
    core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" } } }),
    (error: { code?: number }) => error.code === 409,
  );

  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  const patched = await core.patchNamespacedConfigMap({ name: "a", namespace, body: { data: { m: "2" } } }, merge);
  assert.deepEqual(patched.data, { n: "1", m: "2" });
  const replaced = await core.replaceNamespacedConfigMap({
    name: "a",
    namespace,
    body: { ...patched, data: { n: "3" } },
  });
  assert.deepEqual(replaced.data, { n: "3" });
  await assert.rejects(
    core.replaceNamespacedConfigMap({ name: "a", namespace, body: patched }),
    (error: { code?: number }) => error.code === 409,
  );

  const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: "app=web" });
  assert.deepEqual(
    items.map(({ metadata }) => metadata?.name),
    ["a"],
  );
  const { status } = await core.deleteNamespacedConfigMap({ name: "a", namespace });
  assert.equal(status, "Success");

  const objects = KubernetesObjectApi.makeApiClient(config);
  const spec = {
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "nginx" }] } },
  };
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace }, spec };
  await objects.patch(deployment, undefined, undefined, "tester", true, PatchStrategy.ServerSideApply);
  const applied = await config.makeApiClient(AppsV1Api).readNamespacedDeployment({ name: "web", namespace });
  assert.equal(applied.spec?.replicas, 1);
  assert.equal(applied.metadata?.managedFields?.[0]?.manager, "tester");
});

test("client-node's informer loses no event, not even over a restart of the server", async () => {
  await using server = await ServerProcess.start({ store: "embedded" });
  const config = configFrom(server.kubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  const write = (name: string, n: string) =>
    core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { n } } });
  await write("before", "1");
  await using informed = new InformedMaps(config);
  await informed.start();
  await write("watched", "1");
  await informed.until((cache) => cache.some(({ metadata }) => metadata?.name === "watched"));

  await server.kill("SIGTERM");
  await server.start();
  await write("after", "1");
  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  await core.patchNamespacedConfigMap({ name: "before", namespace, body: { data: { n: "2" } } }, merge);
  await core.deleteNamespacedConfigMap({ name: "watched", namespace });
  await informed.until(
    (cache) =>
      cache.some(({ metadata }) => metadata?.name === "after") &&
      cache.some(({ metadata, data }) => metadata?.name === "before" && data?.n === "2") &&
      !cache.some(({ metadata }) => metadata?.name === "watched"),
  );
  for (const event of ["add before 1", "add watched 1", "add after 1", "update before 2", "delete watched 1"])
    assert.equal(informed.events.filter((one) => one === event).length, 1, `${event} in ${informed.events}`);
});

test("curl gets JSON, YAML and protobuf over HTTP/1.1 and HTTP/2", async () => {
  await using server = await ServerProcess.start();
  const identity = [
    "--cacert",
    server.file("ca.crt"),
    "--cert",
    server.file("admin.crt"),
    "--key",
    server.file("admin.key"),
  ];
  const curl = async (path: string, ...options: string[]) => {
    const args = [
      "--silent",
      "--show-error",
      ...identity,
      "--write-out",
      "\n%{http_code} %{http_version} %{content_type}",
    ];
    const { stdout } = await run("curl", [...args, ...options, server.url + path], { encoding: "latin1" });
    const end = stdout.lastIndexOf("\n");
    return { body: stdout.slice(0, end), outcome: stdout.slice(end + 1) };
  };
  const maps = "/api/v1/namespaces/default/configmaps";
  const json = ["--header", "Content-Type: application/json"];
  const yaml = ["--header", "Content-Type: application/yaml"];
  const first = await curl(maps, "--http1.1", ...json, "--data", '{"metadata":{"name":"a"},"data":{"n":"1"}}');
  assert.equal(first.outcome, "201 1.1 application/json");
  const second = await curl(maps, "--http2", ...yaml, "--data-binary", "metadata:\n  name: b\ndata:\n  n: '2'\n");
  assert.equal(second.outcome, "201 2 application/json");

  for (const version of ["1.1", "2"]) {
    const get = (accept: string) => curl(`${maps}/a`, `--http${version}`, "--header", `Accept: ${accept}`);
    const asJson = await get("application/json");
    assert.equal(asJson.outcome, `200 ${version} application/json`);
    assert.deepEqual(JSON.parse(asJson.body).data, { n: "1" });
    const asYaml = await get("application/yaml");
    assert.equal(asYaml.outcome, `200 ${version} application/yaml`);
    assert.match(asYaml.body, /^data:\n {2}"n": "1"$/m);
    const asProtobuf = await get("application/vnd.kubernetes.protobuf");
    assert.equal(asProtobuf.outcome, `200 ${version} application/vnd.kubernetes.protobuf`);
    assert.match(asProtobuf.body, /^k8s\0/);
    const back = await get("application/nonsense");
    assert.equal(back.outcome, `406 ${version} application/json`);
  }

  for (const version of ["1.1", "2"]) {
    const child = spawn("curl", [
      "--silent",
      "--no-buffer",
      `--http${version}`,
      ...identity,
      `${server.url}${maps}?watch=1`,
    ]);
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => {
        const { value } = await lines.next();
        const { type, object } = JSON.parse(value ?? "");
        return `${type} ${object.metadata.name}`;
      };
      assert.deepEqual([await next(), await next()], ["ADDED a", "ADDED b"]);
      await curl(maps, ...json, "--data", '{"metadata":{"name":"c"}}');
      assert.equal(await next(), "ADDED c");
      await curl(`${maps}/c`, "--request", "DELETE");
      assert.equal(await next(), "DELETED c");
    } finally {
      child.kill();
    }
  }
});

const pythonClient = "/usr/lib/python3/dist-packages/kubernetes/__init__.py";
test("Debian's Python client lists, creates, watches and deletes", {
  skip: existsSync(pythonClient) ? false : "python3-kubernetes is not installed",
}, async () => {
  await using server = await ServerProcess.start();
  const script = fileURLToPath(new URL("client.py", import.meta.url));
  const { stdout } = await run("/usr/bin/python3", [script, server.kubeconfig]);
  assert.deepEqual(stdout.trimEnd().split("\n"), [
    "created a",
    "listed a",
    "ADDED a 1",
    "MODIFIED a 2",
    "DELETED a 2",
    "conflict 409 AlreadyExists",
    "deployment web 3",
    "missing 404 NotFound",
  ]);
});
