// Two processes: an API server, and this one, which runs three controllers. They meet over HTTPS, as all parts of a cluster can.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { systemClock as clock } from "#base/clock.ts";
import { silentLog as log } from "#base/log.ts";
import { systemRandom as random } from "#base/random.ts";
import { retry } from "#base/retry.ts";
import { connectClient } from "#client/host/connect.ts";
import { runControllers } from "#client/run-controllers.ts";
import { deploymentController } from "#controllers/deployment/deployment.ts";
import { replicaSetController } from "#controllers/replicaset.ts";
import { serviceAccountController } from "#controllers/serviceaccount.ts";

const folder = mkdtempSync(join(tmpdir(), "two-processes-"));
const flags = ["--store=memory", `--data-dir=${folder}`, "--bind-address=127.0.0.1", "--secure-port=0"];
const server = spawn("tools/node", ["src/main.ts", "apiserver", ...flags], { stdio: "ignore" });
process.once("exit", () => server.kill());
const ended = once(server, "exit");
const stop = new AbortController();
const { signal } = stop;
ended.then(() => stop.abort(new Error("the API server has ended")));

const patience = { clock, firstMs: 50, maxMs: 500 };
const kubeconfig = join(folder, "pki/admin.kubeconfig"); // the server writes it once it knows its port
const connect = () => connectClient({ explicit: kubeconfig, env: {}, userAgent: "two-processes/1", clock, signal });
const { client, close } = await retry(connect, patience, signal);

const options = { client, clock, random, log };
const controllers = runControllers([deploymentController, replicaSetController, serviceAccountController], options);
const running = controllers.run(signal).catch((error: unknown) => {
  if (!signal.aborted) throw error;
});
try {
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx:1" }] } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  const deployment = { metadata: { namespace: "default", name: "web" }, spec };
  // The server makes the namespace after it has begun to serve.
  await retry(() => client.create(Deployment, deployment), patience, signal);
  const allPods = async () => {
    const { items } = await client.list(Pod, { namespace: "default", labelSelector: "app=web" });
    if (items.length < 2) throw new Error("not all pods are there yet");
    return items;
  };
  for (const { metadata } of await retry(allPods, patience, signal)) console.log(`${metadata.name} was created`);
} finally {
  stop.abort();
  await running;
  close();
  server.kill();
  await ended;
  rmSync(folder, { recursive: true });
}
