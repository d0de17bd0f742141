// The control plane as processes of their own: an API server, controller managers of which one works, a scheduler.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { TokenRequest } from "#api/authentication/v1/token-request.ts";
import { TokenReview } from "#api/authentication/v1/token-review.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { systemClock } from "#base/clock.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { ServerProcess } from "../apiserver/harness.ts";
import { Part } from "./part.ts";

const namespace = "default";
const schedulerConfiguration = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: { leaderElect: true, retryPeriod: 1s }
profiles: [{ schedulerName: default-scheduler }, { schedulerName: other }]
`;
const deployment = (name: string) => ({
  metadata: { name, namespace },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { schedulerName: "other", containers: [{ name: "c", image: "nginx" }] },
    },
  },
});

/** Resolves when there are so many pods of the deployment. */
async function podsOf(client: Client, name: string, count: number): Promise<void> {
  const seen = new Set<string>();
  for await (const events of await client.watch(Pod, {
    namespace,
    labelSelector: `app=${name}`,
    sendInitialEvents: true,
  }))
    for (const { type, object } of events) {
      if (type === "ADDED") seen.add(object.metadata.name);
      if (seen.size === count) return;
    }
}

/** Resolves when there are none any more. */
async function noPodsOf(client: Client, name: string): Promise<void> {
  const selection = { namespace, labelSelector: `app=${name}` };
  const { items, resourceVersion } = await client.list(Pod, selection);
  const left = new Set(items.map(({ metadata }) => metadata.name));
  if (left.size === 0) return;
  for await (const events of await client.watch(Pod, { ...selection, resourceVersion }))
    for (const { type, object } of events) {
      if (type === "DELETED") left.delete(object.metadata.name);
      if (left.size === 0) return;
    }
}

/** What is in a secret once there is something in it. */
async function filled(client: Client, name: string): Promise<NonNullable<Secret["data"]>> {
  const one = { namespace, fieldSelector: `metadata.name=${name}`, sendInitialEvents: true };
  for await (const events of await client.watch(Secret, one))
    for (const { object } of events) if (object.data?.token) return object.data;
  return assert.fail("the watch has ended");
}

/** What a part answers to somebody who shows this token, or none. */
const ask = (port: number, path: string, token?: string): Promise<{ readonly code: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    get({ port, path, headers, rejectUnauthorized: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve({ code: response.statusCode ?? 0, text }));
    }).on("error", reject);
  });

/** The same over the port of old, which asks nobody who it is. */
async function askUnsecured(port: number, path: string): Promise<readonly [code: number, text: string]> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return [response.status, await response.text()];
}

/** A port that is free, as far as can be known. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function tokenFor(client: Client, name: string): Promise<string> {
  const metadata = { namespace, name };
  await client.create(ServiceAccount, { metadata });
  const target = { of: ServiceAccount, subresource: "token" };
  return (await client.create(TokenRequest, { metadata, spec: { audiences: [] } }, target)).status.token;
}

test("anyone may ask for a part's health, and whom the API server lets for its metrics", async () => {
  await using server = await ServerProcess.start();
  const port = await freePort();
  const unsecured = await freePort();
  await using scheduler = new Part(server, "scheduler", `--secure-port=${port}`, `--port=${unsecured}`);
  await scheduler.logged(/"serving"/);
  await scheduler.logged(/"became leader"/);
  const { client, close } = await connectClient({
    explicit: server.kubeconfig,
    env: {},
    userAgent: "test/1",
    clock: systemClock,
    signal: AbortSignal.timeout(300_000),
  });
  const token = await tokenFor(client, "prometheus");
  assert.deepEqual(await ask(port, "/healthz"), { code: 200, text: "ok" });
  assert.match((await ask(port, "/readyz?verbose")).text, /^\[\+\]ping ok\nreadyz check passed$/m);
  const stranger = await ask(port, "/metrics");
  assert.equal(stranger.code, 403);
  assert.match(stranger.text, /User \\"system:anonymous\\" cannot get path \\"\/metrics\\"/);
  assert.equal((await ask(port, "/metrics", "made-up")).code, 401);
  assert.equal((await ask(port, "/metrics", token)).code, 403);
  await client.create(ClusterRoleBinding, {
    metadata: { name: "prometheus" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:monitoring" },
    subjects: [{ kind: "ServiceAccount", name: "prometheus", namespace }],
  });
  // It believes for a while that this one may not.
  let answer = await ask(port, "/metrics", token);
  for (const end = systemClock.elapsed() + 60_000; answer.code === 403 && systemClock.elapsed() < end; ) {
    await systemClock.sleep(200, new AbortController().signal);
    answer = await ask(port, "/metrics", token);
  }
  const { code, text } = answer;
  assert.equal(code, 200);
  assert.match(text, /^leader_election_master_status\{name="kube-scheduler"\} 1$/m);
  assert.equal((await ask(port, "/secrets", token)).code, 403);
  await scheduler.logged(/"serving health and metrics without TLS"/);
  assert.deepEqual(await askUnsecured(unsecured, "/healthz"), [200, "ok"]);
  const [shown, series] = await askUnsecured(unsecured, "/metrics");
  assert.deepEqual([shown, /^leader_election_master_status/m.test(series)], [200, true]);
  close();
});

test("controllers and scheduler work over the network, each as who it is, and another takes over", async () => {
  await using server = await ServerProcess.start();
  const { client, close } = await connectClient({
    explicit: server.kubeconfig,
    env: {},
    userAgent: "test/1",
    clock: systemClock,
    signal: AbortSignal.timeout(300_000),
  });
  const flags = [
    "--secure-port=0",
    "--use-service-account-credentials",
    `--service-account-private-key-file=${server.file("sa.key")}`,
  ];
  await using first = new Part(server, "controller-manager", ...flags);
  await first.logged(/"became leader"/);
  await using second = new Part(server, "controller-manager", ...flags, "--leader-elect-retry-period=1s");
  const config = join(server.folder, "scheduler.yaml");
  writeFileSync(config, schedulerConfiguration);
  await using scheduler = new Part(server, "scheduler", "--secure-port=0", `--config=${config}`);
  await scheduler.logged(/"became leader"/);
  const leaders = new Map<string, string>();
  for await (const events of await client.watch(Event, { namespace: "kube-system", sendInitialEvents: true })) {
    for (const { object } of events)
      if (object.reason === "LeaderElection")
        leaders.set(object.source?.component ?? "", `${object.involvedObject.kind} ${object.involvedObject.name}`);
    if (leaders.size === 2) break;
  }
  assert.deepEqual(Object.fromEntries(leaders), {
    "kube-controller-manager": "Lease kube-controller-manager",
    "default-scheduler": "Lease kube-scheduler",
  });

  await client.create(Deployment, deployment("one"));
  await podsOf(client, "one", 2);
  // Its token was made for it, so it has come to be.
  await client.get(ServiceAccount, { namespace: "kube-system", name: "replicaset-controller" });
  for await (const events of await client.watch(Event, { namespace, sendInitialEvents: true }))
    if (events.some(({ object }) => object.reason === "FailedScheduling")) break;

  const about = {
    metadata: { name: "kept", namespace, annotations: { "kubernetes.io/service-account.name": "default" } },
  };
  await client.create(Secret, { ...about, type: "kubernetes.io/service-account-token" });
  const { token = "", "ca.crt": ca = "" } = await filled(client, "kept");
  const authority = readFileSync(server.file("ca.crt"), "utf8");
  assert.equal(atob(ca), authority, "nothing but the kubeconfig has told which it is");
  const published = await client.get(ConfigMap, { namespace, name: "kube-root-ca.crt" });
  assert.equal(published.data?.["ca.crt"], authority);
  const { status } = await client.create(TokenReview, { metadata: {}, spec: { token: atob(token) } });
  assert.equal(status.user?.username, `system:serviceaccount:${namespace}:default`);

  await first.end("SIGTERM");
  await second.logged(/"became leader"/);
  await client.create(Deployment, deployment("two"));
  await podsOf(client, "two", 2);
  // Garbage is collected of the kinds that the server says it serves.
  await client.delete(Deployment, { namespace, name: "two" });
  await noPodsOf(client, "two");
  close();
});
