// Revisions of workloads, told as a real kubectl tells them, and gone back to. No controller runs: the records are made here.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import { kubectl } from "#kubectl/main.ts";
import { ServerProcess } from "../apiserver/harness.ts";
import { findKubectls } from "../apiserver/kubectls.ts";

const real = findKubectls().at(-1);
let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start({ flags: ["--disable-admission-plugins=ServiceAccount"] });
  await prepare();
});
after(() => server[Symbol.asyncDispose]());

async function ours(line: string, input = ""): Promise<{ stdout: string; stderr: string; code: number }> {
  const texts = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    write: (data: string | Uint8Array) => {
      texts[name] += Buffer.from(data).toString();
    },
  });
  const code = await kubectl(line.split(" "), {
    stdin: Readable.from([Buffer.from(input)]),
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    env: { HOME: server.folder, KUBECONFIG: server.kubeconfig },
    cwd: server.folder,
    clock: systemClock,
    random: seededRandom(1),
    signal: new AbortController().signal,
  });
  return { ...texts, code };
}

const theirs = (path: string, line: string): Promise<string> =>
  new Promise((done) => {
    const env = { HOME: server.folder, KUBECONFIG: server.kubeconfig, PATH: process.env.PATH };
    execFile(path, line.split(" "), { env }, (_, stdout) => done(stdout));
  });

interface MadeWorkload {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly template: Readonly<Record<string, { readonly containers: readonly object[] }>> };
}

async function made(object: object): Promise<MadeWorkload> {
  const { stdout, stderr, code } = await ours("create -f - -o json", JSON.stringify(object));
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const meta = (name: string, more: object = {}) => ({ name, labels: { app: "web" }, ...more });
const template = (image: string, hash?: string) => ({
  metadata: { labels: { app: "web", ...(hash && { "pod-template-hash": hash }) } },
  spec: {
    containers: [
      {
        name: "main",
        image,
        args: ["a", "b\nc"],
        ports: [{ containerPort: 80, name: "http" }, { containerPort: 81 }],
        env: [
          { name: "A", value: "x\ny" },
          { name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
          { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
          { name: "D", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "E", valueFrom: { resourceFieldRef: { resource: "requests.memory", divisor: "1Mi" } } },
        ],
        envFrom: [{ prefix: "P_", configMapRef: { name: "settings", optional: true } }],
        resources: { requests: { memory: "64Mi", cpu: "100m" } },
        livenessProbe: { httpGet: { path: "/ok", port: "http" } },
        readinessProbe: { exec: { command: ["true", "yes"] } },
        startupProbe: { tcpSocket: { port: 80 } },
        volumeMounts: [
          { name: "v", mountPath: "/v", readOnly: true },
          { name: "c", mountPath: "/c", subPath: "d" },
        ],
      },
    ],
    volumes: [
      { name: "v", emptyDir: { sizeLimit: "1Gi" } },
      { name: "c", configMap: { name: "settings" } },
      { name: "h", hostPath: { path: "/tmp" } },
      { name: "p", projected: { sources: [{ secret: { name: "s" } }, { serviceAccountToken: { path: "t" } }] } },
      { name: "f", csi: { driver: "d.example.com", volumeAttributes: { b: "1", a: "2" } } },
      { name: "i", iscsi: { targetPortal: "1.2.3.4", iqn: "iqn.2001-04.com.example:a", lun: 1 } },
      {
        name: "e",
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        },
      },
      { name: "w", downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } },
    ],
    tolerations: [
      { key: "k", operator: "Exists", effect: "NoSchedule" },
      { operator: "Exists", tolerationSeconds: 5, effect: "NoExecute" },
    ],
    nodeSelector: { disk: "ssd" },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "web" } },
      },
    ],
  },
});
/** The template with the defaults that a server gave it, as controllers remember it. */
const withImage = (template: MadeWorkload["spec"]["template"], image: string): object => ({
  ...template,
  spec: { ...template.spec, containers: template.spec?.containers.map((one) => ({ ...one, image })) },
});
const selector = { matchLabels: { app: "web" } };
const owned = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: "apps/v1", kind, name, uid, controller: true }],
});

async function prepare(): Promise<void> {
  const deployment = await made({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: meta("web", { annotations: { "deployment.kubernetes.io/revision": "2" } }),
    spec: { selector, template: template("nginx:2") },
  });
  for (const revision of ["1", "2"])
    await made({
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: meta(`web-${revision}`, {
        ...owned("Deployment", "web", deployment.metadata.uid),
        annotations: {
          "deployment.kubernetes.io/revision": revision,
          "deployment.kubernetes.io/desired-replicas": "1",
          ...(revision === "1" && { "kubernetes.io/change-cause": "first" }),
        },
      }),
      spec: {
        selector: { matchLabels: { app: "web", "pod-template-hash": revision } },
        template: template(`nginx:${revision}`, revision),
      },
    });
  for (const kind of ["DaemonSet", "StatefulSet"]) {
    const name = kind.toLowerCase();
    const { metadata, spec } = await made({
      apiVersion: "apps/v1",
      kind,
      metadata: meta(name),
      spec: { selector, template: template("nginx:2"), ...(kind === "StatefulSet" && { serviceName: "web" }) },
    });
    for (const revision of [1, 2])
      await made({
        apiVersion: "apps/v1",
        kind: "ControllerRevision",
        metadata: meta(`${name}-${revision}`, owned(kind, name, metadata.uid)),
        revision,
        data: { spec: { template: { ...withImage(spec.template, `nginx:${revision}`), $patch: "replace" } } },
      });
  }
}

/** Since 1.34 ports have names, and probes have thresholds written out. */
const steady = (text: string): string =>
  text
    .replaceAll(" (http)", "")
    .replaceAll("successThreshold=", "#success=")
    .replaceAll("failureThreshold=", "#failure=");

test("history is told as a real kubectl tells it", { skip: real ? false : "no kubectl was found" }, async () => {
  assert.ok(real);
  for (const line of [
    "rollout history deployment/web",
    "rollout history deployment/web --revision=1",
    "rollout undo deployment/web --dry-run=client",
    "rollout undo deployment/web --dry-run=server",
    "rollout history daemonset/daemonset --revision=1 -o name",
    "rollout undo daemonset/daemonset --dry-run=client",
    "rollout history statefulset/statefulset --revision=2",
  ]) {
    const { stdout, stderr } = await ours(line);
    assert.equal(steady(stdout), steady(await theirs(real.path, line)), `${line} ${stderr}`);
  }
});

test("undo brings back the pods of an earlier revision", async () => {
  for (const what of ["deployment/web", "daemonset/daemonset", "statefulset/statefulset"]) {
    const image = async () => (await ours(`get ${what} -o jsonpath={.spec.template.spec.containers[0].image}`)).stdout;
    assert.equal(await image(), "nginx:2");
    const { stdout, stderr } = await ours(`rollout undo ${what}`);
    assert.match(stdout, /^\w+\.apps\/\w+ rolled back\n$/, stderr);
    assert.equal(await image(), "nginx:1");
    const again = await ours(`rollout undo ${what} --to-revision=1`);
    assert.match(again.stdout, /skipped rollback \(current template already matches revision 1\)\n$/, what);
    const missing = await ours(`rollout undo ${what} --to-revision=7`);
    assert.equal(missing.stderr, "error: unable to find specified revision 7 in history\n");
    assert.equal(missing.code, 1);
  }
  const { stdout } = await ours("get deploy web -o json");
  assert.deepEqual(JSON.parse(stdout).metadata.annotations, {
    "deployment.kubernetes.io/revision": "2",
    "kubernetes.io/change-cause": "first",
  });
});

test("a paused deployment stays as it is", async () => {
  await ours("rollout pause deployment/web");
  const { stderr, code } = await ours("rollout undo deployment/web --to-revision=2");
  assert.match(stderr, /^error: you cannot rollback a paused deployment/);
  assert.equal(code, 1);
});
