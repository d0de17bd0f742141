// A whole cluster in this process: API server, controllers, scheduler and two simulated nodes, in memory. Nothing else has to run.
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { startCluster } from "#testing/cluster.ts";

await using cluster = await startCluster({ nodes: 2 });
const { client } = cluster;
const place = { namespace: "default", name: "web" };
const labels = { app: "web" };

await client.create(Deployment, {
  metadata: place,
  spec: {
    replicas: 3,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx:1" }] } },
  },
});
await cluster.until(async () => (await client.get(Deployment, place)).status.availableReplicas === 3);

const { items } = await client.list(Pod, { namespace: "default", labelSelector: "app=web" });
for (const { metadata, spec, status } of items)
  console.log(`${metadata.name} is ${status.phase} on ${spec.nodeName} at ${status.podIP}`);
