// Debian's registry in the network of a test's node: containerd reaches it on its own loopback, the test by the node's address.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ImageArchive } from "#cluster/images/archive.ts";
import { type ImageSpec, imageArchive } from "#cluster/images/image.ts";
import { parseJson } from "#schema/json.ts";
import { at, type TestMachine } from "./machine.ts";

export const withoutRegistry: string | false =
  !existsSync("/usr/bin/docker-registry") && "docker-registry is not installed";

/** `user` and `sesame`; registries take bcrypt only. */
const htpasswd = "user:$2b$05$abcdefghijklmnopqrstuuKcS.CYWVYVaLiiCKrrc0A5s3mGesJ9O\n";
export const login = { username: "user", password: "sesame" };
const authorization = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;

export class TestRegistry implements AsyncDisposable {
  /** As images name it: `127.0.0.1:5000`. */
  readonly host: string;
  readonly #url: string;
  readonly #process: ChildProcess;

  private constructor(host: string, url: string, process: ChildProcess) {
    this.host = host;
    this.#url = url;
    this.#process = process;
  }

  static async start(machine: TestMachine, port: number, isPrivate: boolean): Promise<TestRegistry> {
    const folder = join(machine.root, `registry-${port}`);
    mkdirSync(folder);
    writeFileSync(join(folder, "htpasswd"), htpasswd);
    const auth = isPrivate ? { auth: { htpasswd: { realm: "knarr", path: join(folder, "htpasswd") } } } : {};
    const config = {
      version: "0.1",
      log: { level: "error", accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: folder } },
      http: { addr: `:${port}`, secret: "of a test" },
      ...auth,
    };
    writeFileSync(join(folder, "config.yml"), JSON.stringify(config));
    const { netns, address } = at(machine.network.nodes, 0);
    const args = [`--net=/run/netns/${netns}`, "docker-registry", "serve", join(folder, "config.yml")];
    const child = spawn("nsenter", args, { stdio: "ignore" });
    const registry = new TestRegistry(`127.0.0.1:${port}`, `http://${address}:${port}`, child);
    for (let tries = 0; !(await registry.#answers()); tries++) {
      if (tries === 200 || child.exitCode !== null) {
        await registry[Symbol.asyncDispose]();
        throw new Error("the registry does not answer");
      }
      await sleep(50);
    }
    return registry;
  }

  async #answers(): Promise<boolean> {
    try {
      return (await fetch(`${this.#url}/v2/`)).status < 500;
    } catch {
      return false; // it is about to; whoever waits gives up in time
    }
  }

  /** Gives it an image, which is named `<host>/<repository>:<tag>`. */
  async push(repository: string, tag: string, image: Omit<ImageSpec, "references">, folder: string): Promise<string> {
    const path = join(folder, "pushed.tar");
    writeFileSync(path, imageArchive([{ ...image, references: [`${this.host}/${repository}:${tag}`] }]));
    await using archive = await ImageArchive.open(path);
    const [found] = await archive.images();
    if (!found) throw new Error("one image was packed");
    const name = (digest: string) => `blobs/${digest.replace(":", "/")}`;
    const manifest = await archive.bytes(name(found.digest));
    const { config, layers } = parseJson(manifest.toString()).value as {
      config: { digest: string };
      layers: readonly { digest: string }[];
    };
    for (const { digest } of [config, ...layers]) {
      const begun = await this.#send("POST", `${this.#url}/v2/${repository}/blobs/uploads/`);
      const to = new URL(begun.headers.get("location") ?? "", this.#url);
      to.searchParams.set("digest", digest);
      to.host = new URL(this.#url).host;
      await this.#send("PUT", String(to), await archive.bytes(name(digest)), "application/octet-stream");
    }
    await this.#send("PUT", `${this.#url}/v2/${repository}/manifests/${tag}`, manifest, found.mediaType);
    return found.reference;
  }

  async #send(method: string, url: string, body?: Buffer, type?: string): Promise<Response> {
    const headers = { authorization, ...(type !== undefined && { "content-type": type }) };
    const answer = await fetch(url, { method, headers, ...(body && { body: new Uint8Array(body) }) });
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }
}
