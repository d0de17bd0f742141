// A containerd of a test's own: its own folders and socket, in a network namespace without any way out, with one image made of what
// the machine has.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const needed = ["/usr/bin/containerd", "/usr/bin/ctr", "/usr/sbin/runc", "/usr/lib/cni/bridge", "/usr/sbin/ip"];

/** Why the tests cannot run here, or false. */
export const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may run containers"
    : needed.some((path) => !existsSync(path))
      ? "containerd, runc, the CNI plugins or iproute2 is not installed"
      : false;

export const image = "knarr.test/tools:1";
/** Perl is the one that can listen. */
const programs = ["sh", "sleep", "cat", "tar", "head", "stty", "perl"].map((name) =>
  existsSync(`/bin/${name}`) ? `/bin/${name}` : `/usr/bin/${name}`,
);

let made = 0;

export class TestContainerd implements AsyncDisposable {
  readonly endpoint: string;
  readonly folder: string;
  /** The network namespace of its node, and the address it has there. */
  readonly network: string;
  readonly address: string;
  #process: ChildProcess;

  private constructor(folder: string, network: string, address: string) {
    this.folder = folder;
    this.endpoint = `unix://${folder}/containerd.sock`;
    this.network = network;
    this.address = address;
    this.#process = this.#spawn();
  }

  /** Its containers go on without it. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }

  async startAgain(): Promise<void> {
    this.#process = this.#spawn();
    await this.#ready();
  }

  /** Lets it say nothing any more, or go on. */
  freeze(isFrozen: boolean): void {
    this.#process.kill(isFrozen ? "SIGSTOP" : "SIGCONT");
  }

  #spawn(): ChildProcess {
    // `ip netns exec` would hide the cgroups from runc.
    const args = [`--net=/run/netns/${this.network}`, "containerd", "--config", `${this.folder}/config.toml`];
    return spawn("nsenter", args, {
      stdio: ["ignore", "ignore", process.env.CONTAINERD_LOG ? "inherit" : "ignore"],
    });
  }

  /** All it keeps is on a disk of its own, if that is given a size. */
  static async start(diskBytes?: number): Promise<TestContainerd> {
    const folder = await mkdtemp(join(tmpdir(), "knarr-containerd-"));
    if (diskBytes !== undefined) execFileSync("mount", ["-t", "tmpfs", "-o", `size=${diskBytes}`, "tmpfs", folder]);
    const network = `knarr-cri-${process.pid}-${made++}`;
    const net = networkOf(process.pid);
    execFileSync("ip", ["netns", "add", network]);
    const inside = (...args: string[]) => execFileSync("ip", ["-n", network, ...args]);
    inside("link", "set", "lo", "up");
    // From here one can reach the pods; from there there is only the way here.
    execFileSync("ip", ["link", "add", net.link, "type", "veth", "peer", "name", "test1", "netns", network]);
    execFileSync("ip", ["address", "add", `${net.here}/30`, "dev", net.link]);
    execFileSync("ip", ["link", "set", net.link, "up"]);
    inside("address", "add", `${net.there}/30`, "dev", "test1");
    inside("link", "set", "test1", "up");
    execFileSync("ip", ["route", "add", net.pods, "via", net.there]);
    execFileSync("ip", ["netns", "exec", network, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
    await mkdir(`${folder}/cni`);
    await writeFile(`${folder}/cni/10-test.conflist`, JSON.stringify(cniConfig(folder, net.pods)));
    await writeFile(`${folder}/config.toml`, config(folder, net.there));
    const containerd = new TestContainerd(folder, network, net.there);
    try {
      await containerd.#ready();
      await containerd.#importImage();
    } catch (error) {
      await containerd[Symbol.asyncDispose]();
      throw error;
    }
    return containerd;
  }

  #ctr(...args: string[]): string {
    return execFileSync("ctr", ["--address", `${this.folder}/containerd.sock`, "-n", "k8s.io", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async #ready(): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      if (this.#process.exitCode !== null) throw new Error(`containerd ended with ${this.#process.exitCode}`);
      try {
        this.#ctr("version");
        return;
      } catch {
        await sleep(50); // it is not there yet
      }
    }
    throw new Error("containerd does not answer");
  }

  /** A shell and a few programs with the libraries they need. */
  async #importImage(): Promise<void> {
    const root = `${this.folder}/image/root`;
    for (const program of programs)
      for (const path of [program, ...librariesOf(program)]) {
        await mkdir(dirname(root + path), { recursive: true });
        await cp(path, root + path, { dereference: true });
      }
    const archive = `${this.folder}/image`;
    execFileSync("tar", ["-C", root, "-cf", `${archive}/layer.tar`, "."]);
    const layer = createHash("sha256")
      .update(await readFile(`${archive}/layer.tar`))
      .digest("hex");
    const described = {
      architecture: { x64: "amd64", arm64: "arm64" }[process.arch as "x64" | "arm64"],
      os: "linux",
      config: { Cmd: ["/bin/sleep", "2147483647"], Env: ["PATH=/bin:/usr/bin"] },
      rootfs: { type: "layers", diff_ids: [`sha256:${layer}`] },
    };
    await writeFile(`${archive}/config.json`, JSON.stringify(described));
    const manifest = [{ Config: "config.json", RepoTags: [image], Layers: ["layer.tar"] }];
    await writeFile(`${archive}/manifest.json`, JSON.stringify(manifest));
    execFileSync("tar", ["-C", archive, "-cf", `${archive}.tar`, "manifest.json", "config.json", "layer.tar"]);
    this.#ctr("images", "import", `${archive}.tar`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      for (const id of this.#ctr("tasks", "ls", "-q").trim().split("\n").filter(Boolean))
        execFileSync("ctr", ["--address", `${this.folder}/containerd.sock`, "-n", "k8s.io", "tasks", "rm", "-f", id]);
    } catch {
      // a containerd that never started has no tasks
    }
    if (this.#process.exitCode === null) {
      this.#process.kill("SIGTERM");
      await once(this.#process, "exit");
    }
    const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" ")[1] ?? "");
    for (const path of mounts.filter((path) => path.startsWith(this.folder)).toReversed())
      execFileSync("umount", ["-l", path]);
    execFileSync("ip", ["link", "del", networkOf(process.pid).link]); // its namespace would take it along, but later
    execFileSync("ip", ["netns", "del", this.network]);
    await rm(this.folder, { recursive: true, force: true });
  }
}

const librariesOf = (program: string): string[] =>
  [...execFileSync("ldd", [program], { encoding: "utf8" }).matchAll(/(\/\S+) \(0x/g)].map(
    (match) => match[1] as string,
  );

/** A few addresses that are nobody else's, one set for each process of tests: 4,000 processes in a row have different ones. */
const networkOf = (pid: number) => {
  const [x, y] = [pid % 250, 16 * (Math.floor(pid / 250) % 16)];
  return {
    link: `knarr-${pid}`,
    here: `10.201.${x}.${y + 1}`,
    there: `10.201.${x}.${y + 2}`,
    pods: `10.202.${x}.${y}/28`,
  };
};

const cniConfig = (folder: string, subnet: string) => ({
  cniVersion: "0.4.0",
  name: "test",
  plugins: [
    {
      type: "bridge",
      bridge: "test0",
      isGateway: true,
      ipam: { type: "host-local", dataDir: `${folder}/ipam`, ranges: [[{ subnet }]], routes: [{ dst: "0.0.0.0/0" }] },
    },
  ],
});

const config = (folder: string, address: string) => `
version = 2
root = "${folder}/root"
state = "${folder}/state"
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${image}"
  restrict_oom_score_adj = true
  stream_server_address = "${address}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`;
