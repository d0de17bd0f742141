// A kubelet as a process of its own: it comes with a bootstrap token, and gets certificates to be known by and to serve with.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { get, type RequestOptions } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { systemClock } from "#base/clock.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { Hierarchy } from "#kubelet/host/cgroups/hierarchy.ts";
import { isReady } from "#rules/conditions.ts";
import { ServerProcess } from "../apiserver/harness.ts";
import { Part } from "../cluster/part.ts";
import { image, impossible, TestContainerd } from "./containerd.ts";
import { removeSandboxes } from "./machine-node.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const token = { id: "abcdef", secret: "0123456789abcdef" };
const node = "alone";

const until = async <T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> => {
  for (const end = systemClock.elapsed() + 300_000; systemClock.elapsed() < end; ) {
    const found = await look();
    if (found) return found;
    await systemClock.sleep(100, new AbortController().signal);
  }
  throw new Error(`${what} did not come`);
};

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** What whoever looks after the cluster gives to those who are to join. */
async function inviteNodes(client: Client): Promise<void> {
  const base64 = (value: string) => Buffer.from(value).toString("base64");
  await client.create(Secret, {
    metadata: { name: `bootstrap-token-${token.id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: {
      "token-id": base64(token.id),
      "token-secret": base64(token.secret),
      "usage-bootstrap-authentication": base64("true"),
    },
  });
  const roles = ["system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"];
  for (const name of roles)
    await client.create(ClusterRoleBinding, {
      metadata: { name: `test-${name}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:bootstrappers" }],
    });
}

const manifest = (name: string) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "c", image, command: ["/bin/sh", "-c", `echo I am ${name}; sleep 100000`] }],
    },
  });

/** Approves what nobody else does: certificates to serve with. */
async function approve(client: Client): Promise<boolean> {
  const { items } = await client.list(CertificateSigningRequest);
  const open = items.find(
    ({ spec, status }) => spec.signerName === "kubernetes.io/kubelet-serving" && !status.conditions,
  );
  if (!open) return false;
  const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "by hand" }];
  await client.update(CertificateSigningRequest, { ...open, status: { ...open.status, conditions } }, "approval");
  return true;
}

test("a kubelet that runs alone joins by a token, registers as told, runs static pods and serves with a signed certificate", {
  skip: impossible,
}, async () => {
  await using server = await ServerProcess.start({
    flags: [
      "--enable-bootstrap-token-auth",
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
    ],
  });
  const { client, close } = await connectClient({
    explicit: server.kubeconfig,
    env: {},
    userAgent: "test/1",
    clock: systemClock,
    signal: new AbortController().signal,
  });
  await inviteNodes(client);
  const pki = join(server.folder, "pki");
  await using manager = new Part(
    server,
    "controller-manager",
    `--cluster-signing-cert-file=${pki}/ca.crt`,
    `--cluster-signing-key-file=${pki}/ca.key`,
    "--secure-port=0",
    "--use-service-account-credentials",
  );
  await using containerd = await TestContainerd.start();
  const folder = join(containerd.folder, "alone");
  mkdirSync(join(folder, "manifests"), { recursive: true });
  writeFileSync(join(folder, "manifests", "one.yaml"), manifest("one"));
  const web = createServer((request, response) =>
    response.end(request.headers["x-key"] === "open" ? manifest("two") : ""),
  );
  web.listen(0, "127.0.0.1");
  await once(web, "listening");
  const bootstrapConfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: server.url, "certificate-authority": server.file("ca.crt") } }],
    users: [{ name: "u", user: { token: `${token.id}.${token.secret}` } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  };
  writeFileSync(join(folder, "bootstrap.conf"), JSON.stringify(bootstrapConfig));
  const [port, healthzPort] = [await freePort(), await freePort()];
  const configuration = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    staticPodPath: join(folder, "manifests"),
    staticPodURL: `http://127.0.0.1:${(web.address() as AddressInfo).port}/`,
    staticPodURLHeader: { "X-Key": ["open"] },
    address: "127.0.0.1",
    port,
    healthzPort,
    authentication: { x509: { clientCAFile: server.file("ca.crt") } },
    serverTLSBootstrap: true,
    cgroupRoot: `/knarr-test-${process.pid}-alone`,
    evictionHard: {
      "nodefs.available": "0%",
      "imagefs.available": "0%",
      "nodefs.inodesFree": "0%",
      "imagefs.inodesFree": "0%",
    },
    containerRuntimeEndpoint: containerd.endpoint,
  };
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(configuration));
  const args = [
    `--config=${join(folder, "config.yaml")}`,
    `--bootstrap-kubeconfig=${join(folder, "bootstrap.conf")}`,
    `--kubeconfig=${join(folder, "kubelet.conf")}`,
    `--cert-dir=${join(folder, "pki")}`,
    `--root-dir=${join(folder, "root")}`,
    `--hostname-override=${node}`,
    "--node-ip=127.0.0.1",
    "--node-labels=disk=ssd",
    "--register-with-taints=dedicated=test:NoSchedule",
  ];
  const kubelet = startKubelet(args);
  try {
    const registered = await until("the node", async () => {
      assert.equal(kubelet.child.exitCode, null, `the kubelet ended: ${kubelet.log()}`);
      await approve(client);
      const found = await client.find(Node, { name: node });
      return found && isReady(found) && found;
    });
    assert.equal(registered.metadata.labels?.disk, "ssd");
    assert.deepEqual(
      registered.spec.taints?.filter(({ key }) => key === "dedicated"),
      [{ key: "dedicated", value: "test", effect: "NoSchedule" }],
    );
    for (const name of [`one-${node}`, `two-${node}`])
      await until(`static pod ${name}`, async () => {
        const pod = await client.find(Pod, { namespace: "default", name });
        return pod?.status.phase === "Running";
      });
    assert.equal(await (await fetch(`http://127.0.0.1:${healthzPort}/healthz`)).text(), "ok");
    await until("a certificate to serve with", async () => {
      await approve(client);
      return kubelet.log().includes("serving certificate");
    });
    assert.match(readFileSync(join(folder, "pki", "kubelet-server-current.pem"), "utf8"), /BEGIN CERTIFICATE/);
    // The listener looks at its certificate every minute, and when it begins.
    await stop(kubelet.child);
    // Its identity is its own by now: it does not need to be invited twice.
    await client.delete(Secret, { namespace: "kube-system", name: `bootstrap-token-${token.id}` });
    const again = startKubelet(args.filter((arg) => !arg.startsWith("--bootstrap-kubeconfig")));
    try {
      await until("the kubelet's port", async () => again.log().includes('"serving"'));
      const identity = {
        ca: readFileSync(server.file("ca.crt")),
        cert: readFileSync(server.file("admin.crt")),
        key: readFileSync(server.file("admin.key")),
      };
      const ask = async (path: string) => askKubelet({ ...identity, host: "127.0.0.1", port, path });
      const isLog = async () => (await ask(`/containerLogs/default/one-${node}/c`)) === "I am one\n";
      await until("the log of a pod, behind a certificate that the cluster has signed", isLog);
    } finally {
      await stop(again.child);
    }
  } catch (cause) {
    throw new Error(`the kubelet said:\n${kubelet.log()}\nand the controllers:\n${manager.log}`, { cause });
  } finally {
    await stop(kubelet.child);
    web.close();
    close();
    await removeSandboxes(containerd);
    await new Hierarchy().remove(configuration.cgroupRoot, systemClock, new AbortController().signal);
  }
});

async function askKubelet(options: RequestOptions): Promise<string> {
  const [response] = (await once(get(options), "response")) as [IncomingMessage];
  return text(response);
}

function startKubelet(args: readonly string[]) {
  const child = spawn(process.execPath, [join(root, "src/main.ts"), "kubelet", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile") },
  });
  let log = "";
  child.stderr.on("data", (chunk) => {
    log += chunk;
  });
  return { child, log: () => log };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
