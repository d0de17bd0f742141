// The component that keeps a node's rules: it follows the API, and makes everything anew after a failure.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { seededRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { PolicyEnforcer, type RunInNetwork } from "#network/policy/enforcer.ts";
import { impossible, namespace as makeNetns, runIn } from "./kernel.ts";

async function stage() {
  await using owned = new AsyncDisposableStack();
  const netns = owned.use(makeNetns("enforcer"));
  const { server, clock } = owned.use(await testServer());
  const { signal } = new AbortController();
  const client = new Client({ transport: server.request, user: testUser, userAgent: "test/1", signal });
  const metrics = new MetricRegistry();
  const parts = { client, clock, random: seededRandom(1), log: silentLog, metrics };
  const informers = new Informers(parts);
  const inside = runIn(netns.name);
  let fails = false;
  const run: RunInNetwork = async (command, options) => {
    if (fails) {
      fails = false;
      throw new Error("not now");
    }
    return inside(command, options);
  };
  const enforcer = new PolicyEnforcer({ ...parts, informers, node: "n1", run });
  const stop = new AbortController();
  const running = supervise([informers, enforcer], stop.signal);
  owned.defer(async () => {
    stop.abort(new Error("over"));
    await running;
  });
  const table = () => inside(["nft", "-s", "list", "table", "inet", "knarr-policy"], { signal });
  const rest = owned.move();
  return {
    client,
    enforcer,
    metrics,
    failOnce() {
      fails = true;
    },
    flush: () => inside(["nft", "flush", "ruleset"], { signal }),
    async until(check: (rules: string) => boolean) {
      for (let looks = 0; ; looks++) {
        const rules = await table().catch(() => "");
        if (check(rules)) return;
        assert.ok(looks < 1_000, rules);
        await pause(20);
        await clock.advance(500);
      }
    },
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}

async function makePod(client: Client, name: string, namespace: string, ip: string): Promise<void> {
  const made = await client.create(Pod, {
    metadata: { name, namespace, labels: { app: name } },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: 8080 }] }] },
  });
  await client.update(
    Pod,
    { ...made, status: { ...made.status, phase: "Running", podIPs: [{ ip }], podIP: ip } } as Pod,
    "status",
  );
}

test("an enforcer follows policies, pods and the labels of namespaces", { skip: impossible }, async () => {
  await using s = await stage();
  const namespace = "default";
  await s.client.create(Namespace, { metadata: { name: "friends" } });
  await makePod(s.client, "web", namespace, "10.244.0.2");
  await makePod(s.client, "friend", "friends", "10.244.0.3");
  await s.until((rules) => rules.includes("map ingress4") && !rules.includes("10.244.0.2") && s.enforcer.hasSynced);
  await s.client.create(NetworkPolicy, {
    metadata: { name: "web", namespace },
    spec: {
      podSelector: { matchLabels: { app: "web" } },
      ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "red" } } }], ports: [{ port: "http" }] }],
    },
  });
  await s.until((rules) => /10\.244\.0\.2 : goto limit-ingress/.test(rules) && rules.includes("10.244.0.2 . 8080"));
  await s.until((rules) => !/elements = \{ 10\.244\.0\.3 \}/.test(rules));
  await s.client.patch(Namespace, { name: "friends" }, "merge", { metadata: { labels: { team: "red" } } });
  await s.until((rules) => /elements = \{ 10\.244\.0\.3 \}/.test(rules));
  await s.client.patch(Pod, { namespace, name: "web" }, "merge", { metadata: { labels: { app: "other" } } });
  await s.until((rules) => rules !== "" && !rules.includes("goto"));
  const noChains = /knarr_network_policy_rules\{.*kind="chain".*\} 0/;
  let told = "";
  await s.until(() => {
    void s.metrics.text().then((text) => {
      told = text;
    });
    return noChains.test(told);
  });
});

test("an enforcer makes everything anew after a failure", { skip: impossible }, async () => {
  await using s = await stage();
  const namespace = "default";
  await makePod(s.client, "web", namespace, "10.244.0.2");
  await s.client.create(NetworkPolicy, { metadata: { name: "deny", namespace }, spec: { policyTypes: ["Ingress"] } });
  await s.until((rules) => rules.includes("10.244.0.2 : goto"));
  await s.flush();
  s.failOnce();
  await makePod(s.client, "other", namespace, "10.244.0.3");
  await s.until((rules) => rules.includes("10.244.0.2 : goto") && rules.includes("10.244.0.3 : goto"));
  assert.match(await s.metrics.text(), /knarr_network_policy_sync_failures_total\{.*\} 1/);
});
