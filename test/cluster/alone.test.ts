// The control plane as processes of their own: an API server, controller managers of which one works, a scheduler.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
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

test("controllers and scheduler work over the network, each as who it is, and another takes over", async () => {
  await using server = await ServerProcess.start();
  const { client, close } = await connectClient({
    explicit: server.kubeconfig,
    env: {},
    userAgent: "test/1",
    clock: systemClock,
    signal: AbortSignal.timeout(60_000),
  });
  const flags = ["--secure-port=0", "--use-service-account-credentials", `--root-ca-file=${server.file("ca.crt")}`];
  await using first = new Part(server, "controller-manager", ...flags);
  await first.logged(/"became leader"/);
  await using second = new Part(server, "controller-manager", ...flags, "--leader-elect-retry-period=1s");
  const config = join(server.folder, "scheduler.yaml");
  writeFileSync(config, schedulerConfiguration);
  await using scheduler = new Part(server, "scheduler", "--secure-port=0", `--config=${config}`);
  await scheduler.logged(/"became leader"/);

  await client.create(Deployment, deployment("one"));
  await podsOf(client, "one", 2);
  // Its token was made for it, so it has come to be.
  await client.get(ServiceAccount, { namespace: "kube-system", name: "replicaset-controller" });
  for await (const events of await client.watch(Event, { namespace, sendInitialEvents: true }))
    if (events.some(({ object }) => object.reason === "FailedScheduling")) break;

  await first.end("SIGTERM");
  await second.logged(/"became leader"/);
  await client.create(Deployment, deployment("two"));
  await podsOf(client, "two", 2);
  close();
});
