// A real node behind a real API server: its kubelet serves over TLS in the node's network namespace, the API server over HTTPS, and any
// kubectl can talk to it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { type KubeletConnection, kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Client } from "#client/client.ts";
import { Certificates } from "#cluster/certificates.ts";
import * as identities from "#cluster/identities.ts";
import { identityBindings } from "#cluster/identity-bindings.ts";
import { kubeconfig } from "#cluster/kubeconfig.ts";
import { kubeletCertificate, kubeletListener } from "#cluster/machine/kubelet-listener.ts";
import { networkNamespace } from "#cluster/machine/network-namespace.ts";
import type { Kubelet } from "#kubelet/kubelet.ts";
import type { Draft } from "#schema/infer.ts";
import { type HttpsFront, httpsFront } from "#serving/host/https/front.ts";
import { MachineNode } from "./machine-node.ts";

const { signal } = new AbortController();

export interface Ran {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export class ServedNode implements AsyncDisposable {
  readonly machine: MachineNode;
  readonly kubelet: Kubelet;
  readonly folder: string;
  /** What its kubelet was asked to speak. */
  readonly upgrades: ReadonlySet<string>;
  readonly #front: HttpsFront;
  readonly #connection: KubeletConnection;
  readonly #port: { readonly stop: AbortController; readonly done: Promise<void> };
  readonly #children = new Set<ChildProcess>();

  private constructor(
    machine: MachineNode,
    kubelet: Kubelet,
    folder: string,
    upgrades: ReadonlySet<string>,
    front: HttpsFront,
    connection: KubeletConnection,
    port: { readonly stop: AbortController; readonly done: Promise<void> },
  ) {
    this.machine = machine;
    this.kubelet = kubelet;
    this.folder = folder;
    this.upgrades = upgrades;
    this.#front = front;
    this.#connection = connection;
    this.#port = port;
  }

  static async start(): Promise<ServedNode> {
    const folder = mkdtempSync(join(tmpdir(), "knarr-served-"));
    const certificates = new Certificates(`${folder}/pki`, systemClock);
    const { cert: ca } = certificates.authority();
    const serving = certificates.issue("apiserver", { commonName: "apiserver", hosts: ["127.0.0.1"] });
    const admin = certificates.issue("admin", identities.admin);
    const known = certificates.issue("kubelet-client", identities.kubeletClient);
    const connection = kubeletConnection({ ...known, ca });
    const machine = await MachineNode.start({ nodes: connection });
    try {
      const { request, handle, system } = machine.server.server;
      await system({ address: undefined, port: 443 }, identityBindings).attempt(signal);
      const { address, network } = machine.containerd;
      const kubelet = await machine.startKubelet({ addresses: [{ type: "InternalIP", address }] });
      const stop = new AbortController();
      const upgrades = new Set<string>();
      const listener = kubeletListener({
        node: "n1",
        handle(asked) {
          if (asked.headers.upgrade !== undefined) upgrades.add(asked.headers.upgrade);
          return kubelet.handle(asked);
        },
        client: new Client({
          transport: request,
          user: identities.userOf(identities.node("n1")),
          userAgent: "kubelet/1",
          signal,
        }),
        clock: systemClock,
        log: silentLog,
        location: networkNamespace(network),
        address,
        port: 10250,
        certificate: () => kubeletCertificate(certificates, "n1", [address]),
        clientCa: ca,
      });
      const done = listener.run(stop.signal);
      await listener.listening;
      const front = httpsFront({ ...serving, clientCa: ca, handler: handle, log: silentLog });
      const port = await front.listen(0, "127.0.0.1");
      writeFileSync(join(folder, "kubeconfig"), kubeconfig("test", `https://127.0.0.1:${port}`, ca, admin));
      return new ServedNode(machine, kubelet, folder, upgrades, front, connection, { stop, done });
    } catch (error) {
      connection.close();
      await machine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Creates a pod on the node and waits until it is as `isDone` wants it. */
  async pod(name: string, spec: Draft<PodSpec>, isDone: (pod: Pod) => boolean = isRunning): Promise<Pod> {
    await this.machine.create(name, spec);
    return this.machine.untilPod(name, isDone);
  }

  /** Starts a program that talks to the API server, usually a kubectl. */
  start(program: string, args: readonly string[]): ChildProcess {
    const env = { PATH: process.env.PATH, HOME: this.folder, KUBECONFIG: join(this.folder, "kubeconfig") };
    // What does not end is ended, and told.
    const child = spawn(program, args, { timeout: 30_000, env });
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
    await this.#front.close(500);
    this.#port.stop.abort();
    await this.#port.done;
    this.#connection.close();
    await this.machine[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const isRunning = ({ status }: Pod): boolean =>
  status.phase === "Running" && (status.containerStatuses ?? []).every(({ state }) => state.running);

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
