// Machines of a test: each has network, mount, process and host name namespaces of its own, its own /run and its own data folder; all they
// share is a switch. There is no way out of it: no default route, and nothing else is plugged in.
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { Hierarchy } from "#kubelet/host/cgroups/hierarchy.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const needed = [
  "/usr/bin/containerd",
  "/usr/bin/ctr",
  "/usr/sbin/runc",
  "/usr/lib/cni/ptp",
  "/usr/sbin/ip",
  "/usr/sbin/nft",
];

/** Why the tests cannot run here, or false. */
export const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make namespaces"
    : needed.some((path) => !existsSync(path))
      ? "containerd, runc, the CNI plugins, iproute2 or nftables is not installed"
      : false;

export interface Ran {
  readonly code: number;
  /** Standard output and standard error. */
  readonly said: string;
}

export interface KeptProgram extends AsyncDisposable {
  lines(): readonly Readonly<Record<string, unknown>>[];
  /** Resolves with its last line. */
  stop(): Promise<Readonly<Record<string, unknown>>>;
}

const ip = (...args: readonly string[]) => execFileSync("ip", args, { stdio: ["ignore", "pipe", "pipe"] });

/** A switch, and the machines that are plugged into it. */
export class Machines implements AsyncDisposable {
  /** Of the cluster, on all machines. */
  readonly cluster: string;
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-machines-"));
  readonly #switch: string;
  readonly #machines: TestMachine[] = [];
  readonly #mtu: number;

  /** The MTU is that of the network between the machines. */
  constructor(label: string, { mtu = 1500 }: { readonly mtu?: number } = {}) {
    this.#mtu = mtu;
    this.cluster = `m${process.pid}${label}`;
    this.#switch = `knarr-switch-${process.pid}${label}`;
    ip("netns", "add", this.#switch);
    ip("-n", this.#switch, "link", "add", "switch", "type", "bridge");
    ip("-n", this.#switch, "link", "set", "switch", "up");
    mkdirSync(join(this.folder, "images"));
  }

  /** The number is the last of its address, 10.77.0.N. */
  async add(name: string, number: number): Promise<TestMachine> {
    const machine = await TestMachine.start(this, name, `10.77.0.${number}`);
    this.#machines.push(machine);
    const port = `port${number}`;
    const [mtu, pid] = [String(this.#mtu), String(machine.pid)];
    ip(
      ...["-n", this.#switch, "link", "add", port, "mtu", mtu, "type", "veth"],
      ...["peer", "name", "eth0", "mtu", mtu, "netns", pid],
    );
    ip("-n", this.#switch, "link", "set", port, "master", "switch", "up");
    await machine.shell(`ip link set lo up && ip address add ${machine.address}/24 dev eth0 && ip link set eth0 up`);
    return machine;
  }

  /** Connects a machine to the switch, or cuts it off. */
  plug(machine: TestMachine, isIn: boolean): void {
    const port = `port${machine.address.split(".").at(-1)}`;
    ip("-n", this.#switch, "link", "set", port, isIn ? "up" : "down");
  }

  /** Makes the switch one that carries the machines' own addresses alone, as those of clouds do. */
  dropPodAddresses(): void {
    const rules = `table bridge guard {
      chain forward {
        type filter hook forward priority 0; policy accept;
        ether type ip ip saddr != 10.77.0.0/24 drop
        ether type ip ip daddr != 10.77.0.0/24 drop
      }
    }`;
    execFileSync("nsenter", [`--net=/run/netns/${this.#switch}`, "nft", "-f", "-"], { input: rules });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#machines.map((machine) => machine.end()));
    ip("netns", "delete", this.#switch);
    await new Hierarchy().remove(`/knarr/${this.cluster}`, systemClock, new AbortController().signal);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class TestMachine {
  readonly name: string;
  readonly address: string;
  /** Of its first process, as the test sees it. */
  readonly pid: number;
  readonly #all: Machines;
  readonly #holder: ChildProcess;

  private constructor(all: Machines, name: string, address: string, holder: ChildProcess, pid: number) {
    this.#all = all;
    this.name = name;
    this.address = address;
    this.#holder = holder;
    this.pid = pid;
  }

  static async start(all: Machines, name: string, address: string): Promise<TestMachine> {
    const data = join(all.folder, name);
    mkdirSync(join(data, ".images"), { recursive: true });
    const script = [
      "set -e",
      `hostname ${name}`,
      "mount --make-rprivate /",
      "mount -t proc proc /proc",
      "mount -t tmpfs tmpfs /run",
      "mkdir -p /var/lib/knarr",
      `mount --bind ${data} /var/lib/knarr`,
      `mount --bind ${join(all.folder, "images")} /var/lib/knarr/.images`,
      "touch /run/is-up",
      "exec sleep 100000",
    ].join("; ");
    const args = ["--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "sh", "-c", script];
    const holder = spawn("unshare", args, { stdio: "ignore" });
    process.once("exit", () => holder.kill("SIGKILL"));
    for (;;) {
      if (holder.exitCode !== null) throw new Error(`machine ${name} ended before it was up`);
      const pid = Number(readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, "utf8").trim().split(" ")[0]);
      if (pid > 0 && existsSync(`/proc/${pid}/root/run/is-up`)) return new TestMachine(all, name, address, holder, pid);
      await sleep(10);
    }
  }

  /** Runs a program there. */
  run(command: readonly string[], input?: string): Promise<Ran> {
    const args = ["-t", String(this.pid), "--net", "--mount", "--pid", "--uts", "--", ...command];
    const env = {
      ...process.env,
      HOME: "/run",
      KUBECONFIG: "/run/kubeconfig",
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile"),
    };
    return new Promise((resolve) => {
      const child = execFile("nsenter", args, { env, maxBuffer: 2 ** 26 }, (error, out, err) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, said: `${out}${err}` }),
      );
      child.stdin?.on("error", () => undefined); // it ended before it read all: its code and its words tell why
      child.stdin?.end(input ?? "");
    });
  }

  /** A program that says what it does in lines of JSON, goes on until it reads a line, and then says one last thing. */
  keep(command: readonly string[]): KeptProgram {
    const args = ["-t", String(this.pid), "--net", "--mount", "--pid", "--uts", "--", ...command];
    const child = spawn("nsenter", args, { stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(child, "close");
    process.once("exit", () => child.kill("SIGKILL"));
    const lines: Readonly<Record<string, unknown>>[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line)));
    return {
      lines: () => lines,
      async stop() {
        child.stdin.end("stop\n");
        await ended;
        return lines.at(-1) ?? {};
      },
      async [Symbol.asyncDispose]() {
        child.stdin.end(); // it ends by itself then; nsenter alone would leave it behind
        await ended;
      },
    };
  }

  async shell(script: string): Promise<string> {
    const { code, said } = await this.run(["sh", "-c", script]);
    if (code !== 0) throw new Error(`${script} on ${this.name}: ${said}`);
    return said;
  }

  /** Runs knarr there, with the cluster's name. */
  knarr(...args: readonly string[]): Promise<Ran> {
    return this.run([process.execPath, join(root, "src/main.ts"), ...args]);
  }

  /** The same, which has to succeed. */
  async does(...args: readonly string[]): Promise<string> {
    const { code, said } = await this.knarr(...args);
    if (code !== 0) throw new Error(`knarr ${args.join(" ")} on ${this.name}: ${said}\n${await this.log()}`);
    return said;
  }

  /** Runs knarr there, and kills it after so long. What it has started beside itself is not killed. */
  async cutOff(args: readonly string[], ms: number): Promise<void> {
    const words = [process.execPath, join(root, "src/main.ts"), ...args].map((word) => `'${word}'`).join(" ");
    const script = `${words} > /run/cut-off 2>&1 & pid=$!; sleep ${ms / 1000}; kill -KILL $pid; wait $pid`;
    await this.run(["sh", "-c", script]);
  }

  /** Whether it is a node, as far as it knows itself. */
  async hasJoined(): Promise<boolean> {
    const folder = `/var/lib/knarr/${this.#all.cluster}`;
    return (await this.run(["sh", "-c", `[ -e ${folder}/machine.json ] && ! [ -e ${folder}/joining ]`])).code === 0;
  }

  /** What is left of knarr there: routes, rules and folders. */
  async leftovers(): Promise<string> {
    const said = await this.shell("ip route; nft list tables; ls -d /run/knarr /var/lib/knarr/* 2> /dev/null || true");
    return said.replaceAll(/^10\.77.*$/gm, "").trim();
  }

  /** The end of what its cluster or its node has logged. */
  async log(): Promise<string> {
    return (await this.run(["sh", "-c", `tail -n 30 /var/lib/knarr/${this.#all.cluster}/knarr.log`])).said;
  }

  /** Ends the process of its cluster or of its node at once, with all that runs in it. */
  async killKnarr(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    // Whoever takes the lock after another writes a file with the next number.
    const last = `cd /var/lib/knarr/${this.#all.cluster} && cat $(ls -v process.* | tail -n 1)`;
    const { pid } = JSON.parse(await this.shell(last)) as { readonly pid: number };
    await this.shell(`kill -${signal.slice(3)} ${pid}`);
    // Nobody on the machine waits for it, so it stays as a zombie.
    if (signal === "SIGKILL")
      await this.shell(`while [ -e /proc/${pid} ] && ! grep -q '^State:.Z' /proc/${pid}/status; do sleep 0.01; done`);
  }

  /** As if its power were cut. */
  async end(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const exited = once(this.#holder, "exit");
    process.kill(this.pid, "SIGKILL");
    this.#holder.kill("SIGKILL");
    await exited;
  }
}
