// The tour of the README on real containers: what a person sees who types it, on a cluster of three nodes that has no way out of the machine.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { claimRanges } from "../machine/claim.ts";
import { Machine } from "./machine.ts";
import { page } from "./page.ts";

const needed = ["/usr/bin/containerd", "/usr/sbin/runc", "/usr/sbin/ip", "/usr/sbin/nft", "/usr/lib/cni/ptp"];
const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make nodes"
    : needed.some((path) => !existsSync(path))
      ? `one of ${needed.join(", ")} is not installed`
      : false;

const kubectls = impossible ? [] : findKubectls();
/** The oldest, which speaks SPDY, and the newest, which speaks WebSocket. */
const chosen = kubectls.filter((_, i) => i === 0 || i === kubectls.length - 1);
const { signal } = new AbortController();
const name = `tour-${process.pid}`;

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: nginx
        image: knarr.local/nginx:1.0
        readinessProbe: {httpGet: {path: /healthz, port: 80}, periodSeconds: 1}
      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
`;

const policy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - from: [{podSelector: {matchLabels: {role: friend}}}]
    ports: [{port: 80}]
`;

test("the tour on real containers", { skip: impossible }, async (t) => {
  await using machine = new Machine();
  const knarr = (...args: readonly string[]) => machine.ok(...args, `--name=${name}`);
  const kubectl = (...args: readonly string[]) => machine.kubectl(...args);
  const jsonpath = (path: string, ...what: readonly string[]) => kubectl("get", ...what, `--output=jsonpath=${path}`);
  try {
    const { nodeRange, podRange, serviceRange, loadBalancerRange } = claimRanges("tour");
    const ranges = [
      `--node-range=${nodeRange}`,
      `--cluster-cidr=${podRange}`,
      `--service-cluster-ip-range=${serviceRange}`,
      `--load-balancer-range=${loadBalancerRange}`,
    ];
    assert.match(
      await knarr("up", "--nodes=3", "--no-egress", "--addons=none", "--port=0", "--no-install", ...ranges),
      /3 nodes ready/,
    );

    await t.test("a deployment runs on all nodes", async () => {
      writeFileSync(join(machine.home, "web.yaml"), manifest);
      await kubectl("apply", `--filename=${join(machine.home, "web.yaml")}`);
      await kubectl("rollout", "status", "deployment/web", "--timeout=120s");
      const nodes = await jsonpath("{.items[*].spec.nodeName}", "pods");
      assert.deepEqual(nodes.split(" ").toSorted(), ["node-1", "node-2", "node-3"]);
      // The folder was empty, so the images were made while these pods were waiting for them.
      assert.equal(await jsonpath("{.items[*].message}", "events", "--field-selector=reason=Failed"), "");
    });

    await t.test("it answers at each of its addresses, and by name", async () => {
      await kubectl("expose", "deployment", "web", "--port=80", "--type=LoadBalancer");
      const balanced = await until(() => jsonpath("{.status.loadBalancer.ingress[0].ip}", "service", "web"), Boolean);
      const own = await jsonpath("{.spec.clusterIP}", "service", "web");
      const port = await jsonpath("{.spec.ports[0].nodePort}", "service", "web");
      const nodes = (await jsonpath("{.items[*].status.addresses[0].address}", "nodes")).split(" ");
      const pods = (await jsonpath("{.items[*].status.podIP}", "pods")).split(" ");
      assert.equal(nodes.length, 3);
      for (const place of [own, balanced, ...nodes.map((node) => `${node}:${port}`), ...pods])
        assert.match(await until(() => page(`http://${place}/`), Boolean), /Welcome to nginx!/, place);
      await kubectl("run", "client", "--image=knarr.local/busybox:1.0", "--restart=Never", "--", "sleep", "3600");
      await kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=60s");
      for (const host of ["web", "web.default", "web.default.svc.cluster.local"])
        await until(
          () => kubectl("exec", "client", "--", "wget", "-qO-", "-T5", `http://${host}/`),
          (text) => text.includes("Welcome"),
        );
      // Its wget knows no cipher of today, so a request in plain text has to do: it is answered with what to do instead.
      const asked =
        "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w5 kubernetes.default.svc 443 > /dev/null && echo reached";
      await until(
        () => kubectl("exec", "client", "--", "sh", "-c", asked),
        (text) => text.includes("reached"),
      );
    });

    await t.test("pods see each other by their own addresses, across nodes", async () => {
      const pods = (await jsonpath("{range .items[*]}{.metadata.name}={.status.podIP}={.spec.nodeName} {end}", "pods"))
        .trim()
        .split(" ")
        .map((text) => text.split("=") as [string, string, string]);
      const [client] = pods.filter(([pod]) => pod === "client");
      const other = pods.find(([pod, , node]) => pod.startsWith("web-") && node !== client?.[2]);
      assert.ok(client && other);
      await kubectl("exec", "client", "--", "wget", "-qO-", "-T5", `http://${other[1]}/from-client`).catch(() => ""); // no such page
      await until(
        () => kubectl("logs", other[0]),
        (log) => log.includes("/from-client"),
      );
      assert.match(
        await kubectl("logs", other[0]),
        new RegExp(`^${client[1].replaceAll(".", "\\.")} .*/from-client`, "m"),
      );
      const [first, second] = pods.filter(([pod]) => pod.startsWith("web-"));
      assert.ok(first && second);
      await kubectl("exec", second[0], "--", "wget", "-qO-", "-T5", `http://${first[1]}/from-second`).catch(() => "");
      assert.match(
        await until(
          () => kubectl("logs", first[0]),
          (log) => log.includes("/from-second"),
        ),
        new RegExp(`^${second[1].replaceAll(".", "\\.")} `, "m"),
      );
    });

    await t.test("a network policy keeps pods apart, and does not hurt probes", async () => {
      const own = await jsonpath("{.spec.clusterIP}", "service", "web");
      const ask = ["exec", "client", "--", "wget", "-qO-", "-T2", `http://${own}/`];
      const answer = () => kubectl(...ask).catch(() => "nobody");
      await until(answer, (text) => text.includes("Welcome"));
      writeFileSync(join(machine.home, "policy.yaml"), policy);
      assert.doesNotMatch(await kubectl("apply", `--filename=${join(machine.home, "policy.yaml")}`), /Warning/);
      await until(answer, (text) => text === "nobody");
      await kubectl("label", "pod", "client", "role=friend");
      await until(answer, (text) => text.includes("Welcome"));
      await kubectl("rollout", "restart", "deployment/web");
      await kubectl("rollout", "status", "deployment/web", "--timeout=120s"); // pods become ready by probes
      await until(answer, (text) => text.includes("Welcome"));
      await kubectl("label", "pod", "client", "role-");
      await until(answer, (text) => text === "nobody");
      await kubectl("delete", "networkpolicy", "web");
      await until(answer, (text) => text.includes("Welcome"));
    });

    await t.test("a rolling update fails no request", async () => {
      const own = await jsonpath("{.spec.clusterIP}", "service", "web");
      const asked = askOften(`http://${own}/`, 5000);
      await kubectl("set", "image", "deployment/web", "nginx=knarr.local/nginx:1.1");
      await kubectl("rollout", "status", "deployment/web", "--timeout=120s");
      const { answered, failures } = await asked;
      assert.deepEqual(failures, []);
      assert.equal(answered, 5000);
      // Those of before still end, and may be asked for a moment.
      const pods = () => kubectl("get", "pods", "--selector=app=web", "--output=name");
      await until(pods, (names) => names.trim().split("\n").length === 3);
      assert.match(await until(() => page(`http://${own}/`), Boolean), /Version 1\.1/);
    });

    for (const { path: program, version } of chosen)
      await t.test(`kubectl ${version} reaches into containers`, async () => {
        const by = (...args: readonly string[]) => machine.kubectlOf(program, ...args);
        assert.equal(await by("exec", "client", "--", "sh", "-c", "echo $((6 * 7))"), "42\n");
        writeFileSync(join(machine.home, "letter"), "hello there\n");
        await by("cp", join(machine.home, "letter"), "client:/tmp/letter");
        assert.equal(await by("exec", "client", "--", "cat", "/tmp/letter"), "hello there\n");
        await by("cp", "client:/tmp/letter", join(machine.home, "back"));
        assert.equal(readFileSync(join(machine.home, "back"), "utf8"), "hello there\n");
        await using forward = machine.keep(program, "port-forward", "service/web", ":80");
        const port = /127\.0\.0\.1:(\d+)/.exec(
          await until(
            async () => forward.said(),
            (said) => said.includes("127.0.0.1:"),
          ),
        )?.[1];
        assert.match(await page(`http://127.0.0.1:${port}/healthz`), /^ok/);
        await using follow = machine.keep(program, "logs", "--follow", "--tail=1", "deployment/web");
        const own = await jsonpath("{.spec.clusterIP}", "service", "web");
        await until(
          async () => {
            await page(`http://${own}/seen-${version}`);
            return follow.said();
          },
          (said) => said.includes(`/seen-${version}`),
        );
      });

    await t.test("a container that is killed is started again", async () => {
      const pod = await jsonpath("{.items[0].metadata.name}", "pods", "--selector=app=web");
      // The command may end with the container that it kills.
      await machine.run("kubectl", ["exec", pod, "--", "sh", "-c", "kill -9 $(pidof nginx)"]);
      await until(
        () => jsonpath("{.status.containerStatuses[0].restartCount}", "pod", pod),
        (count) => count === "1",
      );
      await kubectl("wait", "--for=condition=Ready", `pod/${pod}`, "--timeout=60s");
    });

    await t.test("pods of a node that is switched off move to the others", async () => {
      const lost = await jsonpath("{.items[0].spec.nodeName}", "pods", "--selector=app=web");
      assert.match(await knarr("node", "stop", lost), /is switched off/);
      // Those on it are told to end, and are shown until it is back and has ended them.
      const elsewhere = async () => {
        const rows = await jsonpath(
          '{range .items[*]}{.spec.nodeName} {.metadata.deletionTimestamp}|{.status.conditions[?(@.type=="Ready")].status};{end}',
          "pods",
          "--selector=app=web",
        );
        return rows
          .split(";")
          .filter((row) => /^\S+ \|True$/.test(row) && !row.startsWith(`${lost} `))
          .join(";");
      };
      await until(elsewhere, (rows) => rows.split(";").length === 3);
      const own = await jsonpath("{.spec.clusterIP}", "service", "web");
      assert.match(await until(() => page(`http://${own}/`), Boolean), /Welcome/);
      assert.match(await knarr("node", "start", lost), /is switched on/);
      await kubectl("wait", "--for=condition=Ready", `node/${lost}`, "--timeout=90s");
    });

    await t.test("what is deleted ends, on the nodes as well", async () => {
      await kubectl("delete", "deployment,service,pod", "--all", "--grace-period=2", "--timeout=90s");
      assert.equal(await kubectl("get", "pods", "--output=name"), "");
    });

    await t.test("stopped and started, it goes on with what it had", async () => {
      await kubectl("create", "deployment", "kept", "--image=knarr.local/nginx:1.0");
      await kubectl("rollout", "status", "deployment/kept", "--timeout=120s");
      await knarr("stop");
      await knarr("start");
      await kubectl("wait", "--for=condition=Available", "deployment/kept", "--timeout=120s");
      const served = async () => page(`http://${await jsonpath("{.items[0].status.podIP}", "pods")}/`);
      assert.match(await until(served, Boolean), /Version 1\.0/);
      // The same pod, started once more; it serves before that is written down.
      const restarts = () => jsonpath("{.items[*].status.containerStatuses[0].restartCount}", "pods");
      assert.equal(await until(restarts, (count) => count !== "0"), "1");
    });
  } finally {
    await machine.knarr("down", `--name=${name}`);
  }
  assert.ok(!existsSync(`/run/netns/knarr-${name}-node-1`));
  assert.ok(!existsSync(`/run/knarr/${name}`));
});

async function askOften(url: string, count: number): Promise<{ answered: number; failures: readonly string[] }> {
  const failures: string[] = [];
  let answered = 0;
  let asked = 0;
  const lane = async () => {
    while (asked++ < count)
      if ((await page(url)).includes("Welcome")) answered++;
      else failures.push(`number ${asked}`);
  };
  await Promise.all(Array.from({ length: 4 }, lane));
  return { answered, failures };
}

async function until(ask: () => Promise<string>, isRight: (answer: string) => unknown): Promise<string> {
  const end = systemClock.elapsed() + 90_000;
  for (;;) {
    const answer = await ask().catch((error: Error) => {
      if (systemClock.elapsed() > end) throw error;
      return "";
    });
    if (isRight(answer)) return answer;
    if (systemClock.elapsed() > end) throw new Error(`it did not come to that: ${answer}`);
    await systemClock.sleep(100, signal);
  }
}
