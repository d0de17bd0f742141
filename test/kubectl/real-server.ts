// A kube-apiserver of upstream on a real etcd, for those who have one: on the PATH, or named by KNARR_KUBE_APISERVER.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "#base/clock.ts";
import { Certificates } from "#cluster/certificates.ts";
import { type EtcdCluster, noEtcd, startEtcd } from "#store/testing/etcd.ts";

/** What the differ needs of a server. */
export interface ComparedServer extends AsyncDisposable {
  readonly url: string;
  file(name: "ca.crt" | "admin.crt" | "admin.key"): string;
}

/** Undefined where there is none, or no etcd for it. */
export function findKubeApiServer(): string | undefined {
  if (noEtcd) return undefined;
  const named = process.env.KNARR_KUBE_APISERVER;
  const onPath = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "kube-apiserver"));
  return [...(named ? [named] : []), ...onPath].find((path) => existsSync(path));
}

export class RealServer implements ComparedServer {
  readonly #folder = mkdtempSync(join(tmpdir(), "knarr-kube-apiserver-"));
  readonly #etcd: EtcdCluster;
  readonly #port: number;
  #child: ChildProcess | undefined;
  #log = "";

  private constructor(etcd: EtcdCluster, port: number) {
    this.#etcd = etcd;
    this.#port = port;
    process.once("exit", this.#killAtExit);
  }

  /** Resolves when it is ready. Rejects with its log if it ends before. */
  static async start(program: string): Promise<RealServer> {
    const server = new RealServer(await startEtcd(), await freePort());
    try {
      await server.#start(program);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  file(name: string): string {
    return join(this.#folder, name);
  }

  async #start(program: string): Promise<void> {
    const certificates = new Certificates(this.#folder, systemClock);
    certificates.issue("server", { commonName: "kube-apiserver", hosts: ["127.0.0.1", "localhost"] });
    certificates.issue("admin", { commonName: "admin", organizations: ["system:masters"] });
    const child = spawn(
      program,
      [
        `--etcd-servers=${this.#etcd.endpoints.join(",")}`,
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        `--secure-port=${this.#port}`,
        `--cert-dir=${this.#folder}`,
        `--client-ca-file=${this.file("ca.crt")}`,
        `--tls-cert-file=${this.file("server.crt")}`,
        `--tls-private-key-file=${this.file("server.key")}`,
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        `--service-account-key-file=${this.file("server.key")}`,
        `--service-account-signing-key-file=${this.file("server.key")}`,
        // No controller makes the service accounts that pods would be refused without.
        "--disable-admission-plugins=ServiceAccount",
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    this.#child = child;
    child.stderr?.on("data", (part: Buffer) => {
      this.#log = (this.#log + part.toString("utf8")).slice(-20_000);
    });
    while (!(await this.#isReady())) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${this.#log}`);
      await sleep(200);
    }
  }

  #isReady(): Promise<boolean> {
    const [ca, cert, key] = ["ca.crt", "admin.crt", "admin.key"].map((name) => readFileSync(this.file(name)));
    return new Promise((done) => {
      const asked = request(`${this.url}/readyz`, { ca, cert, key, agent: false }, (answer) => {
        answer.resume();
        done(answer.statusCode === 200);
      });
      asked.once("error", () => done(false)); // it does not listen yet
      asked.end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    process.off("exit", this.#killAtExit);
    await this.#etcd.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  readonly #killAtExit = (): void => {
    this.#child?.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}
