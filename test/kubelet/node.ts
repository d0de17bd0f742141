// One real node behind a real API server, for tests: containerd, a kubelet that serves over TLS in the node's network namespace, and an
// API server over HTTPS that any kubectl can talk to.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { type KubeletConnection, kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom, systemRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Certificates } from "#cluster/certificates.ts";
import * as identities from "#cluster/identities.ts";
import { kubeconfig } from "#cluster/kubeconfig.ts";
import { kubeletCertificate, kubeletListener } from "#cluster/machine/kubelet-listener.ts";
import { containerInputs } from "#kubelet/host/container-inputs.ts";
import { CriRuntime } from "#kubelet/host/cri/runtime.ts";
import { criStreams } from "#kubelet/host/cri/streams.ts";
import { probeHandlers } from "#kubelet/host/probe-handlers.ts";
import { Volumes } from "#kubelet/host/volumes/volumes.ts";
import type { InputSources } from "#kubelet/inputs/sources.ts";
import { type Kubelet, kubelet } from "#kubelet/kubelet.ts";
import type { Draft } from "#schema/infer.ts";
import { type HttpsFront, httpsFront } from "#wire/host/https.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";
import { image, TestContainerd } from "./containerd.ts";

const { signal } = new AbortController();
const sources: InputSources = {
  configMap: async () => undefined,
  secret: async () => undefined,
  services: async () => [],
  token: async () => "a token",
};

export interface Ran {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export class TestNode implements AsyncDisposable {
  readonly containerd: TestContainerd;
  readonly runtime: CriRuntime;
  readonly cluster: TestCluster;
  readonly kubelet: Kubelet;
  readonly front: HttpsFront;
  readonly connection: KubeletConnection;
  readonly #config: string;
  readonly #children = new Set<ChildProcess>();

  private constructor(
    parts: Pick<TestNode, "containerd" | "runtime" | "cluster" | "kubelet" | "front" | "connection">,
    config: string,
  ) {
    this.containerd = parts.containerd;
    this.runtime = parts.runtime;
    this.cluster = parts.cluster;
    this.kubelet = parts.kubelet;
    this.front = parts.front;
    this.connection = parts.connection;
    this.#config = config;
  }

  static async start(): Promise<TestNode> {
    const containerd = await TestContainerd.start();
    const { folder, address, network } = containerd;
    const certificates = new Certificates(`${folder}/pki`, systemClock);
    const { cert: ca } = await certificates.authority();
    const serving = await certificates.issue("apiserver", { commonName: "apiserver", hosts: ["127.0.0.1"] });
    const admin = await certificates.issue("admin", identities.admin);
    const connection = kubeletConnection({
      ...(await certificates.issue("kubelet-client", identities.kubeletClient)),
      ca,
    });
    const podsDirectory = `${folder}/pods`;
    const runtime = await CriRuntime.connect(
      {
        endpoint: containerd.endpoint,
        clock: systemClock,
        logsDirectory: `${folder}/logs`,
        podsDirectory,
        memoryBytes: 4 * 2 ** 30,
        inputs: containerInputs({
          sources,
          volumes: new Volumes({ podsDirectory, sources, stamp: () => systemRandom.uuid() }),
          hostIps: [address],
          allocatable: { cpu: "2", memory: "4Gi" },
        }),
      },
      signal,
    );
    const certificate = await kubeletCertificate(certificates, "n1", [address]);
    let made: Kubelet | undefined;
    const cluster = await testCluster({
      controllers: [],
      server: { nodes: connection },
      components({ server }) {
        const user = identities.userOf(identities.node("n1"));
        const client = new Client({ transport: server.server.request, user, userAgent: "kubelet/1", signal });
        const common = { client, clock: systemClock, log: silentLog };
        made = kubelet({
          ...common,
          description: description(address),
          runtime,
          probes: probeHandlers,
          streams: criStreams(runtime, systemClock),
          spdyCompression,
          random: seededRandom(2),
        });
        const handle = made.handle.bind(made);
        const place = { namespace: network, address, port: 10250, certificate, clientCa: ca };
        return [made, kubeletListener({ ...common, node: "n1", handle, ...place })];
      },
    });
    assert.ok(made);
    const { handle } = cluster.server.server;
    const front = httpsFront({ ...serving, clientCa: ca, handler: handle, log: silentLog });
    const port = await front.listen(0, "127.0.0.1");
    const config = join(folder, "kubeconfig");
    mkdirSync(folder, { recursive: true });
    writeFileSync(config, kubeconfig("test", `https://127.0.0.1:${port}`, ca, admin));
    return new TestNode({ containerd, runtime, cluster, kubelet: made, front, connection }, config);
  }

  /** Creates a pod on the node and waits until it is as `isDone` wants it. */
  async pod(name: string, spec: Draft<PodSpec>, isDone: (pod: Pod) => boolean = isRunning): Promise<Pod> {
    await this.cluster.client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: { nodeName: "n1", terminationGracePeriodSeconds: 0, ...spec },
    });
    return this.until(name, isDone);
  }

  async until(name: string, isDone: (pod: Pod) => boolean): Promise<Pod> {
    const patience = systemClock.elapsed() + 30_000;
    for (;;) {
      const pod = await this.cluster.client.get(Pod, { namespace: "default", name });
      if (isDone(pod)) return pod;
      if (systemClock.elapsed() > patience) assert.fail(`pod ${name} stays ${JSON.stringify(pod.status)}`);
      await systemClock.sleep(30, signal);
    }
  }

  /** Starts a program that talks to the API server, usually a kubectl. */
  start(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const home = this.containerd.folder;
    const child = spawn(program, args, {
      timeout: 30_000, // what does not end is ended, and told
      env: { PATH: process.env.PATH, HOME: home, KUBECONFIG: this.#config, ...env },
    });
    this.#children.add(child);
    child.once("close", () => this.#children.delete(child));
    return child;
  }

  async run(program: string, args: readonly string[], input?: string | Buffer): Promise<Ran> {
    const child = this.start(program, args);
    child.stdin?.on("error", () => undefined); // it may leave before it has read all
    child.stdin?.end(input ?? "");
    const [stdout, stderr, code] = await Promise.all([
      collect(child.stdout),
      collect(child.stderr),
      new Promise<number | null>((resolve) => child.once("close", resolve)),
    ]);
    return { code, stdout, stderr: stderr.toString() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await this.front.close(500);
    await this.cluster[Symbol.asyncDispose]();
    this.connection.close();
    for (const uid of await this.runtime.pods(signal))
      for (const { id } of (await this.runtime.observe(uid, signal)).sandboxes)
        await this.runtime.removeSandbox(id, signal);
    this.runtime.close();
    await this.containerd[Symbol.asyncDispose]();
  }
}

export const isRunning = ({ status }: Pod): boolean =>
  status.phase === "Running" && (status.containerStatuses ?? []).every(({ state }) => state.running);

/** A container of the usual image that runs a script. */
export const shell = (script: string, rest: object = {}): Draft<PodSpec> => ({
  containers: [{ name: "c", image, command: ["/bin/sh", "-c", script], ...rest }],
});

export async function collect(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream ?? []) parts.push(part);
  return Buffer.concat(parts);
}

/** Reads until a pattern was seen. */
export function said(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  return new Promise((resolve, reject) => {
    const hear = (part: Buffer) => {
      text += part;
      const match = pattern.exec(text);
      if (match) resolve(match);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("close", () => reject(new Error(`${pattern} did not come, only ${JSON.stringify(text)}`)));
  });
}

const description = (address: string) => ({
  name: "n1",
  capacity: { cpu: "2", memory: "4Gi", pods: "30" },
  addresses: [{ type: "InternalIP", address }],
  system: {
    machineID: "",
    systemUUID: "",
    bootID: "",
    kernelVersion: "",
    osImage: "",
    containerRuntimeVersion: "containerd://1",
    kubeletVersion: "v1.36.4",
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: "amd64",
    swap: undefined,
  },
  port: 10250,
});
