// Starts real etcd processes for tests and benchmarks, on free loopback ports and in a folder of their own.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { standStill } from "#base/testing/stand-still.ts";

const { signal: unending } = new AbortController();

const etcdPath = "/usr/bin/etcd";
const opensslPath = "/usr/bin/openssl";
/** Where there is this, the kernel ends etcd together with a test that was killed. */
const setprivPath = "/usr/bin/setpriv";

/** Why etcd cannot be tested on this machine; false where it can. For `test(…, { skip: noEtcd })`. */
export const noEtcd: string | false = existsSync(etcdPath)
  ? false
  : `${etcdPath} is absent (Debian package etcd-server)`;

/** The same for clusters with `tls`. */
export const noTls: string | false =
  noEtcd || (existsSync(opensslPath) ? false : `${opensslPath} is absent (package openssl)`);

export interface EtcdClusterOptions {
  readonly members?: 1 | 3;
  /** Serve clients by TLS and demand a client certificate. */
  readonly tls?: boolean;
  /** More of etcd's own flags. */
  readonly flags?: readonly string[];
}

export interface ClientCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface EtcdCluster {
  readonly members: readonly EtcdMember[];
  readonly endpoints: readonly string[];
  /** What a client needs when the cluster was started with `tls`. */
  readonly certificate: ClientCertificate | undefined;
  /** The member that leads, by its own account. */
  leader(): Promise<EtcdMember>;
  /** Ends all members and removes their folder. After a failure the logs are kept, and it says where. */
  stop(passed?: boolean): Promise<void>;
}

export async function startEtcd(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const folder = mkdtempSync(join(tmpdir(), "knarr-etcd-"));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  try {
    const certificates = options.tls ? makeCertificates(folder) : undefined;
    const names = Array.from({ length: options.members ?? 1 }, (_, i) => `m${i + 1}`);
    const ports = await freePorts(names.length * 3);
    const places = names.map((name, i) => {
      const [client = 0, peer = 0, health = 0] = ports.slice(i * 3, i * 3 + 3);
      return { name, client, peer, health };
    });
    const initialCluster = places.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(",");
    const members = places.map(
      (place) =>
        new EtcdMember({ ...place, folder, initialCluster, tls: certificates?.server, flags: options.flags ?? [] }),
    );
    const killAll = () => {
      for (const member of members) member.signal("SIGKILL");
      removeFolder();
    };
    // A test that is cut off must not leave processes behind: the runner ends its workers by SIGTERM.
    const cutOff = () => process.exit(143);
    process.on("exit", killAll);
    process.on("SIGTERM", cutOff);

    const stop = async (passed = true) => {
      await Promise.all(members.map((member) => member.kill()));
      process.off("exit", killAll);
      process.off("SIGTERM", cutOff);
      if (!passed) keepLogs(members);
      removeFolder();
    };
    try {
      await Promise.all(members.map((member) => member.start()));
    } catch (error) {
      await stop(false);
      throw error;
    }
    return {
      members,
      endpoints: members.map(({ endpoint }) => endpoint),
      certificate: certificates?.client,
      leader: () => leaderOf(members),
      stop,
    };
  } catch (error) {
    removeFolder();
    throw error;
  }
}

interface MemberPlace {
  readonly name: string;
  readonly client: number;
  readonly peer: number;
  readonly health: number;
  readonly folder: string;
  readonly initialCluster: string;
  readonly tls: ServerFiles | undefined;
  readonly flags: readonly string[];
}

export class EtcdMember {
  readonly endpoint: string;
  readonly #place: MemberPlace;
  #process: ChildProcess | undefined;

  constructor(place: MemberPlace) {
    this.#place = place;
    this.endpoint = `${place.tls ? "https" : "http"}://127.0.0.1:${place.client}`;
  }

  get name(): string {
    return this.#place.name;
  }

  get isRunning(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null;
  }

  get log(): string {
    const path = this.#logPath;
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  get #logPath(): string {
    return join(this.#place.folder, `${this.#place.name}.log`);
  }

  /** Starts the process, with the data it had, and waits until it answers and knows a leader. */
  async start(): Promise<void> {
    const { name, client, peer, health, folder, initialCluster, tls, flags } = this.#place;
    const scheme = tls ? "https" : "http";
    const log = openSync(this.#logPath, "a");
    const [command, ...before] = existsSync(setprivPath)
      ? ([setprivPath, "--pdeathsig=KILL", etcdPath] as const)
      : ([etcdPath] as const);
    const child = spawn(
      command,
      [
        ...before,
        `--name=${name}`,
        `--data-dir=${join(folder, name)}`,
        `--listen-client-urls=${scheme}://127.0.0.1:${client}`,
        `--advertise-client-urls=${scheme}://127.0.0.1:${client}`,
        `--listen-peer-urls=http://127.0.0.1:${peer}`,
        `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
        `--listen-metrics-urls=http://127.0.0.1:${health}`,
        `--initial-cluster=${initialCluster}`,
        `--initial-cluster-token=${folder}`,
        "--logger=zap",
        "--log-level=warn",
        ...(tls
          ? [`--cert-file=${tls.cert}`, `--key-file=${tls.key}`, `--trusted-ca-file=${tls.ca}`, "--client-cert-auth"]
          : []),
        ...flags,
      ],
      { stdio: ["ignore", log, log], env: {} },
    );
    closeSync(log);
    this.#process = child;
    await this.#healthy(child);
  }

  /** Ends the process at once, as a power cut would, and waits until it is gone. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || !this.isRunning) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Removes all data of a member that is not running, as when its disk was lost. */
  wipe(): void {
    rmSync(join(this.#place.folder, this.#place.name), { recursive: true, force: true });
  }

  /** The process stands still, its connections stay open. */
  async pause(): Promise<void> {
    const pid = this.#process?.pid;
    if (pid !== undefined) await standStill(pid);
  }

  resume(): void {
    this.signal("SIGCONT");
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name);
  }

  async #healthy(child: ChildProcess): Promise<void> {
    const deadline = systemClock.elapsed() + 60_000;
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`etcd ${this.name} ended with ${child.exitCode ?? child.signalCode}:\n${tail(this.log)}`);
      if (await this.#answersHealthy()) return;
      if (systemClock.elapsed() > deadline) throw new Error(`etcd ${this.name} is not ready:\n${tail(this.log)}`);
      await systemClock.sleep(20, unending);
    }
  }

  async #answersHealthy(): Promise<boolean> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.#place.health}/health`);
      const { health } = (await response.json()) as { health?: string };
      return health === "true";
    } catch {
      return false; // it does not listen yet; the caller asks again until its deadline
    }
  }

  /** By etcd's own metrics, which need no certificate. */
  async isLeader(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.#place.health}/metrics`, {
      signal: AbortSignal.timeout(1_000),
    });
    return /^etcd_server_is_leader 1$/m.test(await response.text());
  }
}

async function leaderOf(members: readonly EtcdMember[]): Promise<EtcdMember> {
  const deadline = systemClock.elapsed() + 30_000;
  while (systemClock.elapsed() < deadline) {
    const leads = await Promise.all(members.map((member) => member.isLeader().catch(() => false)));
    const leader = members[leads.indexOf(true)];
    if (leader) return leader;
    await systemClock.sleep(50, unending);
  }
  throw new Error("no member leads the etcd cluster");
}

function keepLogs(members: readonly EtcdMember[]): void {
  const kept = mkdtempSync(join(tmpdir(), "knarr-etcd-logs-"));
  for (const member of members) writeFileSync(join(kept, `${member.name}.log`), member.log);
  console.error(`etcd's logs are kept in ${kept}`);
}

const tail = (log: string) => log.split("\n").slice(-20).join("\n");

/** Ports that were free a moment ago; all are held until all are known, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  return Promise.all(
    servers.map(async (server) => {
      const address = server.address();
      const closed = once(server, "close");
      server.close();
      await closed;
      if (address === null || typeof address === "string") throw new Error("the server has no port");
      return address.port;
    }),
  );
}

interface ServerFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority with one certificate for the servers and one for a client, both made for this run only. */
export function makeCertificates(folder: string): { server: ServerFiles; client: ClientCertificate } {
  mkdirSync(folder, { recursive: true });
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync(opensslPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl("req", "-x509", ...key, "-keyout", path("ca.key"), "-out", path("ca.crt"), "-days", "2", "-subj", "/CN=test");
  const issue = (name: string, extensions: string) => {
    openssl("req", ...key, "-keyout", path(`${name}.key`), "-out", path(`${name}.csr`), "-subj", `/CN=${name}`);
    writeFileSync(path(`${name}.ext`), extensions);
    openssl(
      ...["x509", "-req", "-in", path(`${name}.csr`), "-CA", path("ca.crt"), "-CAkey", path("ca.key")],
      ...["-CAcreateserial", "-out", path(`${name}.crt`), "-days", "2", "-extfile", path(`${name}.ext`)],
    );
  };
  issue("server", "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n");
  issue("client", "extendedKeyUsage=clientAuth\n");
  const read = (name: string) => readFileSync(path(name), "utf8");
  return {
    server: { ca: path("ca.crt"), cert: path("server.crt"), key: path("server.key") },
    client: { ca: read("ca.crt"), cert: read("client.crt"), key: read("client.key") },
  };
}
