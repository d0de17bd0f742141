import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestServer, testServer } from "../testing.ts";

const mebibyte = 1024 * 1024;
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const deployment = (bytes: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "web", args: ["x".repeat(bytes)] }] },
    },
  },
});
const refusal = { code: 500, message: "etcdserver: request is too large" };
const refused = ({ code, json }: Awaited<ReturnType<TestServer["call"]>>) => ({
  code,
  message: (json as unknown as { message: string }).message,
});

test("an object of more than 1.5 MiB is not stored, whichever way it comes", async () => {
  await using server = await testServer();
  assert.deepEqual(refused(await server.call("POST", deployments, deployment(1.5 * mebibyte))), refusal);
  assert.equal((await server.call("POST", deployments, deployment(mebibyte))).code, 201);
  const more = { op: "add", path: "/spec/template/spec/containers/0/args/-", value: "x".repeat(mebibyte) };
  const args = [{ name: "web", image: "web", args: ["x".repeat(1.5 * mebibyte)] }];
  const patches: Readonly<Record<string, unknown>> = {
    "application/json-patch+json": [more],
    "application/merge-patch+json": { spec: { template: { spec: { containers: args } } } },
    "application/strategic-merge-patch+json": { spec: { template: { spec: { containers: args } } } },
    "application/apply-patch+yaml": deployment(1.5 * mebibyte),
  };
  for (const [type, body] of Object.entries(patches)) {
    const force = type.includes("apply") ? "&force=true" : "";
    const answer = await server.call("PATCH", `${deployments}/web?fieldManager=test${force}`, body, {
      "content-type": type,
    });
    assert.deepEqual(refused(answer), refusal, type);
  }
  assert.deepEqual(refused(await server.call("PUT", `${deployments}/web`, deployment(1.5 * mebibyte))), refusal);
  const stored = (await server.call("GET", `${deployments}/web`)).json;
  const status = {
    ...stored,
    status: { conditions: [{ type: "Available", status: "True", message: "x".repeat(mebibyte) }] },
  };
  assert.deepEqual(refused(await server.call("PUT", `${deployments}/web/status`, status)), refusal);
  assert.equal((await server.call("GET", `${deployments}/web`)).text.length < 1.5 * mebibyte, true);
});

test("an object of the largest size can be deleted, also step by step", async () => {
  await using server = await testServer();
  const held = (bytes: number) => {
    const { metadata, ...rest } = deployment(bytes);
    return { ...rest, metadata: { ...metadata, finalizers: ["example.com/wait"] } };
  };
  const { text } = await server.call("POST", `${deployments}?dryRun=All`, held(0));
  const around = text.length - "\n".length;
  assert.equal((await server.call("POST", deployments, held(1.5 * mebibyte - around + 1))).code, 500);
  assert.equal((await server.call("POST", deployments, held(1.5 * mebibyte - around))).code, 201);
  assert.equal((await server.call("DELETE", `${deployments}/web`)).code, 200);
});
