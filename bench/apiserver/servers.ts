// Starts what is measured, each in a process of its own, with a probe inside.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { Certificates } from "#cluster/certificates.ts";
import type { Http2Target } from "#wire/testing/raw-http2.ts";
import type { Usage } from "./probe.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const root = at("../..");

export interface Measured extends Http2Target {
  /** What it has used since the last call. `stalls` has turns of the event loop watched from now on. */
  usage(question?: "usage" | "stalls"): Promise<Usage>;
  /** Memory of the process, by the kernel's account; also without the probe, which has some of its own. */
  rssMib(): number;
  /** From the start of the process until it said that it serves. */
  readonly startMs: number;
  stop(): Promise<void>;
}

export interface Keys {
  readonly folder: string;
  readonly cert: string;
  readonly key: string;
}

/** Certificates for all servers and the client of a run. */
export async function makeKeys(folder: string): Promise<Keys> {
  const certificates = new Certificates(folder, systemClock);
  certificates.issue("server", { commonName: "bench", hosts: ["127.0.0.1"] });
  return {
    folder,
    ...certificates.issue("client", { commonName: "bench", organizations: ["system:masters"] }),
  };
}

/** The whole of knarr as the launcher bundles it, in a folder of its own; the caller removes that. */
export function makeBundle(): string {
  const path = join(root, `node_modules/.cache/knarr-bench-${process.pid}/main.mjs`);
  const { status } = spawnSync(process.execPath, [join(root, "tools/bundle.ts"), path], { stdio: "inherit" });
  if (status !== 0) throw new Error("the bundle could not be made");
  return path;
}

/** What the launcher gives to Node. */
const launcherFlags = (): readonly string[] => {
  const line = /^exec .*$/m.exec(readFileSync(join(root, "knarr"), "utf8"))?.[0] ?? "";
  return line.split(" ").filter((word) => word.startsWith("--"));
};

export async function startKnarr(
  bundle: string,
  keys: Keys,
  store: readonly string[],
  isProbed = true,
): Promise<Measured> {
  const args = [
    ...(isProbed ? ["--import", at("probe.ts")] : []),
    ...(process.env.KNARR_BENCH_NODE ?? "").split(" ").filter((arg) => arg !== ""),
    ...launcherFlags(),
    bundle,
    "apiserver",
    "--secure-port=0",
    "--bind-address=127.0.0.1",
    `--tls-cert-file=${join(keys.folder, "server.crt")}`,
    `--tls-private-key-file=${join(keys.folder, "server.key")}`,
    `--client-ca-file=${join(keys.folder, "ca.crt")}`,
    "--disable-admission-plugins=ServiceAccount", // no controller makes the accounts that pods need
    ...store,
  ];
  const started = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "pipe", "ipc"] });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once("exit", (code) => reject(new Error(`knarr apiserver ended with ${code}`)));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    const port = /"port":(\d+)/.exec(text)?.[1];
    if (port !== undefined) resolve(Number(port));
    if (!text.includes('"level":"info"')) process.stderr.write(text);
  });
  const port = await promise;
  return measured(child, port, performance.now() - started, keys);
}

export async function startFloor(
  keys: Keys,
  folder: string,
  sizes: { object: number; list: number },
): Promise<Measured> {
  const started = performance.now();
  const files = [join(keys.folder, "server.crt"), join(keys.folder, "server.key")];
  const child = spawn(
    process.execPath,
    ["--import", at("probe.ts"), at("floor.ts"), folder, ...files, String(sizes.object), String(sizes.list)],
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return measured(child, port, performance.now() - started, keys);
}

const measured = (child: ChildProcess, port: number, startMs: number, { cert, key }: Keys): Measured => ({
  port,
  cert,
  key,
  startMs,
  rssMib() {
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  },
  async usage(question = "usage") {
    const answer = once(child, "message");
    child.send(question);
    return (await answer)[0] as Usage;
  },
  async stop() {
    const ended = once(child, "exit");
    child.kill();
    await ended;
  },
});
