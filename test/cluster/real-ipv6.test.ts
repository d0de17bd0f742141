// Clusters with IPv6, with real containers and real connections: one with both families on two nodes, and one with IPv6 alone.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { claimIpv6Ranges } from "../machine/claim.ts";
import { Machine } from "./machine.ts";
import { page } from "./page.ts";

const needed = ["/usr/bin/containerd", "/usr/sbin/runc", "/usr/sbin/ip", "/usr/sbin/nft", "/usr/lib/cni/ptp"];
const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make nodes"
    : needed.some((path) => !existsSync(path))
      ? `one of ${needed.join(", ")} is not installed`
      : existsSync("/proc/net/if_inet6")
        ? false
        : "this kernel has no IPv6";

const { signal } = new AbortController();
const patienceMs = 180_000;

const manifest = (replicas: number) => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: nginx
        image: knarr.local/nginx:1.0
        readinessProbe: {httpGet: {path: /healthz, port: 80}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ipFamilyPolicy: PreferDualStack, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: plain}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: knarr.local/busybox:1.0, command: [sleep, "3600"]}]
`;

const policy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - from: [{podSelector: {matchLabels: {role: friend}}}]
`;

class Ipv6Cluster implements AsyncDisposable {
  readonly #machine = new Machine();
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  async up(families: "dual" | "ipv6", ...more: readonly string[]): Promise<void> {
    const ranges = claimIpv6Ranges(this.#name, families);
    const said = await this.#machine.ok(
      ...["up", `--name=${this.#name}`, "--no-egress", "--addons=none", "--port=0", "--no-install"],
      ...["--timeout=5m", `--node-range=${ranges.nodeRange}`, `--cluster-cidr=${ranges.podRange}`],
      ...[`--service-cluster-ip-range=${ranges.serviceRange}`, `--load-balancer-range=${ranges.loadBalancerRange}`],
      ...more,
    );
    assert.match(said, /nodes? ready/);
  }

  async apply(text: string): Promise<void> {
    const file = join(this.#machine.home, "objects.yaml");
    writeFileSync(file, text);
    await this.kubectl("apply", `--filename=${file}`);
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#machine.kubectl(...args);
  }

  async words(path: string, ...what: readonly string[]): Promise<readonly string[]> {
    return (await this.kubectl("get", ...what, `--output=jsonpath=${path}`)).trim().split(" ");
  }

  /** What the client pod gets by a program of busybox. */
  inside(...command: readonly string[]): Promise<string> {
    return this.kubectl("exec", "client", "--", ...command);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine.knarr("down", `--name=${this.#name}`);
    await this.#machine[Symbol.asyncDispose]();
    assert.ok(!existsSync(`/run/netns/knarr-${this.#name}-node-1`));
  }
}

const isIpv6 = (address: string) => address.includes(":");
const host = (address: string) => (isIpv6(address) ? `[${address}]` : address);
const families = (addresses: readonly string[]) => addresses.map((one) => (isIpv6(one) ? 6 : 4));

test("a cluster of both families carries connections of both", { skip: impossible }, async (t) => {
  await using cluster = new Ipv6Cluster(`dual-${process.pid}`);
  await cluster.up("dual", "--nodes=2");
  await cluster.apply(manifest(2));
  await cluster.kubectl("rollout", "status", "deployment/web", "--timeout=180s");
  await cluster.kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=180s");

  await t.test("nodes, pods and services have addresses of both", async () => {
    const node = await cluster.words("{.status.addresses[?(@.type=='InternalIP')].address}", "node", "node-1");
    assert.deepEqual(families(node), [4, 6]);
    assert.deepEqual(families(await cluster.words("{.spec.podCIDRs[*]}", "node", "node-1")), [4, 6]);
    assert.deepEqual(families(await cluster.words("{.status.podIPs[*].ip}", "pod", "client")), [4, 6]);
    assert.deepEqual(families(await cluster.words("{.status.hostIPs[*].ip}", "pod", "client")), [4, 6]);
    assert.deepEqual(await cluster.words("{.spec.ipFamilies[*]}", "service", "web"), ["IPv4", "IPv6"]);
    assert.deepEqual(await cluster.words("{.spec.ipFamilies[*]}", "service", "plain"), ["IPv4"]);
    for (const address of await cluster.words("{.status.podIPs[*].ip}", "pod", "client"))
      await until(
        () => cluster.inside("cat", "/etc/hosts"),
        (text) => text.includes(`${address}\tclient\n`),
      );
  });

  await t.test("the host and pods reach pods, services, node ports and load balancers by both", async () => {
    const pods = await cluster.words("{.items[*].status.podIPs[*].ip}", "pods", "--selector=app=web");
    const own = await cluster.words("{.spec.clusterIPs[*]}", "service", "web");
    const balanced = await until(
      () => cluster.words("{.status.loadBalancer.ingress[*].ip}", "service", "web"),
      ({ length }) => length === 2,
    );
    const [port] = await cluster.words("{.spec.ports[0].nodePort}", "service", "web");
    const nodes = await cluster.words("{.items[*].status.addresses[?(@.type=='InternalIP')].address}", "nodes");
    assert.deepEqual([pods, own, balanced, nodes].map(families), [
      [4, 6, 4, 6],
      [4, 6],
      [4, 6],
      [4, 6, 4, 6],
    ]);
    const places = [...pods, ...own, ...balanced].map(host).concat(nodes.map((node) => `${host(node)}:${port}`));
    for (const place of places) {
      await until(
        () => page(`http://${place}/`),
        (text) => text.includes("Welcome"),
      );
      await until(
        () => cluster.inside("wget", "-qO-", "-T5", `http://${place}/`),
        (text) => text.includes("Welcome"),
      );
    }
  });

  await t.test("pods see each other by their own addresses, across nodes", async () => {
    const [node] = await cluster.words("{.spec.nodeName}", "pod", "client");
    const other = `pods --selector=app=web --field-selector=spec.nodeName!=${node}`.split(" ");
    const [name = ""] = await cluster.words("{.items[0].metadata.name}", ...other);
    for (const address of await cluster.words("{.items[0].status.podIPs[*].ip}", ...other)) {
      await until(
        () => cluster.inside("wget", "-qO-", "-T5", `http://${host(address)}/`),
        (text) => text.includes("Welcome"),
      );
      const clients = await cluster.words("{.status.podIPs[*].ip}", "pod", "client");
      const own = clients.find((one) => isIpv6(one) === isIpv6(address));
      await until(
        () => cluster.kubectl("logs", name),
        (log) => log.includes(`${own} - - `),
      );
    }
  });

  await t.test("names have addresses of both, and addresses of both have names", async () => {
    const own = await cluster.words("{.spec.clusterIPs[*]}", "service", "web");
    const name = "web.default.svc.cluster.local";
    for (const [i, type] of ["a", "aaaa"].entries())
      await until(
        () => cluster.inside("nslookup", `-type=${type}`, name),
        (text) => text.includes(`Address: ${own[i]}\n`),
      );
    for (const address of own)
      await until(
        () => cluster.inside("nslookup", address),
        (text) => text.includes(`name = ${name}`),
      );
  });

  await t.test("a network policy closes and opens both", async () => {
    const pods = await cluster.words("{.items[*].status.podIPs[*].ip}", "pods", "--selector=app=web");
    const isOpen = async (address: string) =>
      (await cluster.inside("sh", "-c", `wget -qO- -T2 http://${host(address)}/ || true`)).includes("Welcome");
    await cluster.apply(policy);
    for (const address of pods)
      await until(
        () => isOpen(address),
        (open) => !open,
      );
    await cluster.kubectl("label", "pod", "client", "role=friend");
    for (const address of pods) await until(() => isOpen(address), Boolean);
    await cluster.kubectl("delete", "networkpolicy", "web");
  });

  await t.test("with a local policy the sender of either family is seen", async () => {
    await cluster.kubectl("patch", "service", "web", "--patch", '{"spec":{"externalTrafficPolicy":"Local"}}');
    for (const address of await cluster.words("{.status.loadBalancer.ingress[*].ip}", "service", "web")) {
      const [range = ""] = (await cluster.words("{.status.hostIPs[*].ip}", "pod", "client")).filter(
        (one) => isIpv6(one) === isIpv6(address),
      );
      const machine = range.replace(/[.:][^.:]+$/, (end) => `${end[0]}1`);
      await until(
        async () => {
          await page(`http://${host(address)}/`);
          return cluster.kubectl("logs", "--selector=app=web", "--tail=20");
        },
        (log) => log.includes(`${machine} - - `),
      );
    }
  });
});

test("a cluster of IPv6 alone runs pods, services and names", { skip: impossible }, async () => {
  await using cluster = new Ipv6Cluster(`six-${process.pid}`);
  await cluster.up("ipv6", "--ip-family=ipv6", "--proxy-mode=iptables");
  await cluster.apply(manifest(1));
  await cluster.kubectl("rollout", "status", "deployment/web", "--timeout=180s");
  await cluster.kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=180s");
  for (const [path, ...what] of [
    ["{.items[*].status.podIPs[*].ip}", "pods"],
    ["{.items[*].spec.clusterIPs[*]}", "services", "--all-namespaces"],
    ["{.items[*].status.addresses[0].address}", "nodes"],
  ] as const)
    assert.ok((await cluster.words(path, ...what)).every(isIpv6), path);
  const [pod = ""] = await cluster.words("{.items[*].status.podIP}", "pods", "--selector=app=web");
  const [port] = await cluster.words("{.spec.ports[0].nodePort}", "service", "web");
  const [node = ""] = await cluster.words("{.items[0].status.addresses[0].address}", "nodes");
  const [balanced = ""] = await until(
    () => cluster.words("{.status.loadBalancer.ingress[*].ip}", "service", "web"),
    ([address]) => address,
  );
  for (const place of [host(pod), host(balanced), `${host(node)}:${port}`])
    await until(
      () => page(`http://${place}/`),
      (text) => text.includes("Welcome"),
    );
  await until(
    () => cluster.inside("wget", "-qO-", "-T5", "http://web.default/"),
    (text) => text.includes("Welcome"),
  );
  const asked = "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w5 kubernetes.default.svc 443 > /dev/null && echo reached";
  await until(
    () => cluster.inside("sh", "-c", asked),
    (text) => text.includes("reached"),
  );
});

async function until<T>(ask: () => Promise<T>, isRight: (answer: T) => unknown): Promise<T> {
  const end = systemClock.elapsed() + patienceMs;
  for (;;) {
    let answer: T | Error;
    try {
      answer = await ask();
      if (isRight(answer)) return answer;
    } catch (error) {
      answer = error as Error;
    }
    if (systemClock.elapsed() > end) throw new Error(`it did not come to that: ${answer}`);
    await systemClock.sleep(100, signal);
  }
}
