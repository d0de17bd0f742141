// Add-ons on real containers: the cluster's DNS as pods, what becomes of names while they are killed, and what a person may change.
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { decode, encode } from "dns-packet";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { Ingress } from "#api/networking/v1/ingress.ts";
import { explain } from "#base/errors.ts";
import { findHaproxy } from "../ingress/proxy.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { patienceMs, RealCluster, untilNone } from "./real-cluster.ts";

const namespace = "kube-system";
const name = "kubernetes.default.svc.cluster.local";
const selector = { namespace, labelSelector: "k8s-app=kube-dns" };

/** As a resolver of a C library asks: again after a while, and in the end it gives up. */
async function resolves(address: string): Promise<{ readonly tries: number; readonly isResolved: boolean }> {
  const question = encode({ type: "query", id: 1, flags: 0x100, questions: [{ type: "A", name }] });
  for (let tries = 1; tries <= 5; tries++) {
    const socket = createSocket("udp4");
    const answered = Promise.withResolvers<boolean>();
    socket.on("message", (bytes) => answered.resolve((decode(bytes).answers?.length ?? 0) > 0));
    socket.on("error", () => undefined); // refused while nobody is there
    socket.send(question, 53, address);
    const isResolved = await Promise.race([answered.promise, pause(5000, false, { ref: false })]);
    socket.close();
    if (isResolved) return { tries, isResolved };
  }
  return { tries: 5, isResolved: false };
}

/** The code of the answer, or why there is none. A busy machine may take long to answer, which is no failure. */
async function status(address: string, host: string, path: string): Promise<number | string> {
  const request = get({ host: address, path, headers: { host }, agent: false, timeout: patienceMs });
  request.on("timeout", () => request.destroy(new Error("no answer")));
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    await once(response, "end");
    return response.statusCode ?? 0;
  } catch (error) {
    return explain(error);
  }
}

const gatewayObjects = [
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name: "web" },
    spec: { gatewayClassName: "haproxy", listeners: [{ name: "http", protocol: "HTTP", port: 80 }] },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "web" },
    spec: {
      parentRefs: [{ name: "web" }],
      hostnames: ["gateway.test"],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  },
];

const { missing } = impossible ? { missing: impossible } : await findHaproxy();

test("add-ons run as pods", { skip: impossible }, async (t) => {
  await using machine = new Machine();
  await using cluster = await RealCluster.plan(machine, { label: "o", nodes: 2 });
  await cluster.up("--addons=dns");
  const { clusterIP: address = "" } = await cluster.withClient(
    async (client) => (await client.get(Service, { namespace, name: "kube-dns" })).spec,
  );
  /** Addresses at which the pods answer, as the proxies know them. */
  const answering = () =>
    cluster.withClient(async (client) => {
      const { items } = await client.list(EndpointSlice, {
        namespace,
        labelSelector: "kubernetes.io/service-name=kube-dns",
      });
      return items.flatMap((slice) =>
        (slice.endpoints ?? []).flatMap(({ addresses, conditions }) =>
          conditions.ready === false
            ? []
            : addresses.map((one) => ({ address: one, isOurs: slice.metadata.name === "kube-dns" })),
        ),
      );
    });
  const handedOver = (pods: number) =>
    untilNone(patienceMs, async () => {
      const all = await answering();
      return all.length === pods && !all.some(({ isOurs }) => isOurs) ? [] : [JSON.stringify(all)];
    });

  await t.test("names are resolved before the pods are there, and by a pod on each node then", async () => {
    assert.equal((await resolves(address)).isResolved, true);
    await handedOver(2);
    const pods = await cluster.withClient(async (client) => (await client.list(Pod, selector)).items);
    assert.deepEqual(pods.map(({ spec }) => spec.nodeName).toSorted(), ["node-1", "node-2"]);
    assert.ok(pods.every(({ spec }) => spec.containers[0]?.securityContext?.runAsNonRoot === true));
    assert.equal((await resolves(address)).isResolved, true);
    assert.match((await cluster.knarr("addon", "list")).out, /^dns +enabled +2\/2 /m);
  });

  await t.test("pods that are killed lose no query that a resolver asks again", async () => {
    const killing = new AbortController();
    const results: { readonly tries: number; readonly isResolved: boolean }[] = [];
    const asking = Array.from({ length: 8 }, async () => {
      while (!killing.signal.aborted) {
        results.push(await resolves(address));
        await pause(20);
      }
    });
    const before = await cluster.withClient(async (client) => (await client.list(Pod, selector)).items);
    for (const { metadata } of before)
      await cluster.withClient((client) => client.delete(Pod, { namespace, name: metadata.name }, { graceSeconds: 0 }));
    const old = new Set(before.map(({ status }) => status.podIP));
    await untilNone(patienceMs, async () => {
      const all = await answering();
      const isNew = all.length === 2 && all.every((one) => !one.isOurs && !old.has(one.address));
      return isNew ? [] : [JSON.stringify(all)];
    });
    killing.abort();
    await Promise.all(asking);
    assert.ok(results.length > 20, `${results.length} queries`);
    assert.equal(results.filter(({ isResolved }) => !isResolved).length, 0);
  });

  await t.test(
    "an Ingress is served by pods, and no request fails while its pods are replaced",
    { skip: missing },
    async () => {
      await cluster.knarr("addon", "enable", "ingress");
      await cluster.hasImages();
      await cluster.withClient(async (client) => {
        const labels = { app: "web" };
        const containers = [
          {
            name: "nginx",
            image: "knarr.local/nginx:1.0",
            readinessProbe: { httpGet: { path: "/healthz", port: 80 }, periodSeconds: 1 },
          },
        ];
        const metadata = { name: "web", namespace: "default" };
        const template = { metadata: { labels }, spec: { containers } };
        await client.create(Deployment, {
          metadata,
          spec: { replicas: 2, selector: { matchLabels: labels }, template },
        });
        await client.create(Service, { metadata, spec: { selector: labels, ports: [{ port: 80 }] } });
        const backend = { service: { name: "web", port: { number: 80 } } };
        const rules = [{ host: "web.test", http: { paths: [{ path: "/", pathType: "Prefix" as const, backend }] } }];
        await client.create(Ingress, { metadata, spec: { ingressClassName: "haproxy", rules } });
      });
      const found: string[] = [];
      await untilNone(patienceMs, async () => {
        const ingress = await cluster.withClient((client) =>
          client.get(Ingress, { namespace: "default", name: "web" }),
        );
        found.push(...(ingress.status.loadBalancer.ingress ?? []).flatMap(({ ip }) => ip ?? []));
        return found.length > 0 ? [] : ["the Ingress has no address"];
      });
      await untilNone(patienceMs, async () => {
        const { out } = await cluster.knarr("addon", "list");
        return /^ingress +enabled +2\/2 /m.test(out) ? [] : [out];
      });
      const [host = ""] = found;
      const page = (path = "/") => status(host, "web.test", path);
      await untilNone(patienceMs, async () => ((await page()) === 200 ? [] : [`${await page()}`]));
      assert.equal(await status(host, "other.test", "/"), 404);
      const stop = new AbortController();
      const failed: (number | string)[] = [];
      let asked = 0;
      const asking = Array.from({ length: 2 }, async () => {
        while (!stop.signal.aborted) {
          const code = await page();
          asked++;
          if (code !== 200) failed.push(code);
          await pause(5);
        }
      });
      await machine.kubectl("rollout", "restart", "deployment/web");
      await machine.kubectl("rollout", "status", "deployment/web", "--timeout=180s");
      stop.abort();
      await Promise.all(asking);
      assert.ok(asked > 20, `${asked} requests`);
      assert.deepEqual(failed, []);
      assert.match((await cluster.knarr("addon", "list")).out, /^ingress +enabled +2\/2 /m);
    },
  );

  await t.test("a Gateway is served by pods at an address of its own", { skip: missing }, async () => {
    await cluster.knarr("addon", "enable", "gateway");
    await cluster.hasImages();
    const manifest = join(machine.home, "gateway.json");
    writeFileSync(manifest, JSON.stringify({ apiVersion: "v1", kind: "List", items: gatewayObjects }));
    await untilNone(patienceMs, async () => {
      const { code, err } = await machine.run("kubectl", ["apply", "-f", manifest]);
      return code === 0 ? [] : [err]; // the definitions come with the add-on
    });
    const host = { address: "" };
    await untilNone(patienceMs, async () => {
      host.address = await machine.kubectl("get", "gateway", "web", "-o", "jsonpath={.status.addresses[0].value}");
      return host.address ? [] : [await machine.kubectl("get", "gateway", "web", "-o", "yaml")];
    });
    await untilNone(patienceMs, async () => {
      const code = await status(host.address, "gateway.test", "/");
      return code === 200 ? [] : [`${code}`];
    });
    assert.equal(await status(host.address, "other.test", "/"), 404);
    await cluster.knarr("addon", "disable", "gateway");
  });

  await t.test("what a pod wrote is found when it is gone, by those who may read its log", async () => {
    await cluster.knarr("addon", "enable", "logs");
    await cluster.hasImages();
    const pod = (pod: string, labels: Record<string, string>, script: string) => ({
      metadata: { name: pod, namespace: "default", labels },
      spec: {
        containers: [{ name: "main", image: "knarr.local/busybox:1.0", command: ["sh", "-c", script] }],
        terminationGracePeriodSeconds: 0,
      },
    });
    const count = "for i in $(seq 1 300); do echo line $i of $HOSTNAME; done; sleep 3600";
    await cluster.withClient(async (client) => {
      await client.create(Pod, pod("gone", { app: "talk" }, count));
      await client.create(Pod, pod("stays", { app: "talk" }, count));
    });
    const lines = async (...flags: readonly string[]) =>
      (await cluster.knarr("logs", ...flags)).out.split("\n").filter((line) => line !== "");
    await untilNone(patienceMs, async () => {
      const found = await lines("--pods=app=talk");
      return found.length === 600 ? [] : [`${found.length} lines`];
    });
    await cluster.withClient((client) => client.delete(Pod, { namespace: "default", name: "gone" }));
    await untilNone(patienceMs, async () =>
      (await cluster.pods()).some(({ metadata }) => metadata.name === "gone") ? ["it is still there"] : [],
    );
    assert.equal((await lines("--pod=gone", "--since=1h", "--grep=line 29[0-9] of")).length, 10);
    const [last = ""] = await lines("--pod=gone", "--tail=1", "--container=main", "-o", "json");
    const { text, labels, node } = JSON.parse(last);
    assert.deepEqual([text, labels], ["line 300 of gone", { app: "talk" }]);
    assert.match(node, /^node-[12]$/);
    const kubeconfig = join(machine.home, "bob.kubeconfig");
    const admin = JSON.parse(readFileSync(cluster.place.adminKubeconfig, "utf8"));
    admin.users[0].user.as = "bob";
    writeFileSync(kubeconfig, JSON.stringify(admin));
    const asBob = (...flags: readonly string[]) => machine.knarr("logs", `--kubeconfig=${kubeconfig}`, ...flags);
    await machine.kubectl("create", "role", "logs", "--verb=get", "--resource=pods/log");
    await machine.kubectl("create", "rolebinding", "logs", "--role=logs", "--user=bob");
    assert.match((await asBob("--pod=gone", "--tail=1", "-n", "default")).out, /line 300 of gone/);
    for (const place of [["-n", "kube-system"], ["-A"]]) {
      const { code, out, err } = await asBob(...place);
      assert.deepEqual([code, out], [1, ""]);
      assert.match(err, /User "bob" cannot get resource "pods\/log"/);
    }
  });

  await t.test("what is to be reconciled is put right, and what a person took over is not", async () => {
    const place = { namespace, name: "coredns" };
    await cluster.withClient((client) =>
      client.patch(Deployment, place, "merge", {
        metadata: { labels: { "addonmanager.kubernetes.io/mode": "EnsureExists" } },
        spec: { replicas: 1 },
      }),
    );
    // Whatever wakes the add-on manager makes it look at everything.
    await cluster.knarr("addon", "enable", "dns");
    await cluster.withClient((client) => client.delete(ConfigMap, { namespace, name: "coredns" }));
    await cluster.withClient((client) =>
      client.patch(ConfigMap, { namespace, name: "addons" }, "merge", { metadata: { annotations: { looked: "1" } } }),
    );
    await untilNone(patienceMs, async () => {
      const found = await cluster.withClient((client) => client.find(ConfigMap, { namespace, name: "coredns" }));
      return found?.data?.Corefile?.includes("kubernetes cluster.local") ? [] : ["there is no Corefile"];
    });
    const { spec } = await cluster.withClient((client) => client.get(Deployment, place));
    assert.equal(spec.replicas, 1);
  });

  await t.test("an add-on that is disabled is gone, and names are resolved all the same", async () => {
    assert.match((await cluster.knarr("addon", "disable", "dns")).out, /^add-on dns is disabled$/m);
    await untilNone(patienceMs, async () => {
      const [pods, all] = await Promise.all([
        cluster.withClient(async (client) => (await client.list(Pod, selector)).items),
        answering(),
      ]);
      return pods.length === 0 && all.length === 1 && all[0]?.isOurs
        ? []
        : [`${pods.length} pods`, JSON.stringify(all)];
    });
    assert.equal((await resolves(address)).isResolved, true);
    assert.match((await cluster.knarr("addon", "list")).out, /^dns +disabled +- /m);
    assert.match((await cluster.knarr("addon", "enable", "nothing")).err, /there is no add-on "nothing"; there is dns/);
  });

  await cluster.knarr("down");
  await cluster.leftNothing();
});
