// What `knarr down` finds of a cluster whose folders somebody has removed.
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { linkOf } from "#network/local-network.ts";
import { impossible } from "./machine.ts";

const launcher = fileURLToPath(new URL("../../knarr", import.meta.url));
const ip = (...args: readonly string[]) => execFileSync("ip", args, { encoding: "utf8" });

class Leftovers implements AsyncDisposable {
  /** Another for each, so that tests do not meet. */
  readonly name = `t${process.pid}${Math.trunc(performance.now())}`;
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-forgotten-"));
  readonly runFolder = `/run/knarr/${this.name}`;
  readonly #children: ChildProcess[] = [];

  /** Makes namespaces: of a node, of the switch, of others whose names only look alike. */
  make(...parts: readonly string[]): void {
    for (const part of parts) ip("netns", "add", `knarr-${this.name}${part}`);
  }

  get left(): readonly string[] {
    return readdirSync("/run/netns")
      .filter((one) => one.startsWith(`knarr-${this.name}`))
      .map((one) => one.slice(`knarr-${this.name}`.length))
      .sort();
  }

  /** Somebody is in the namespace. */
  async inhabit(part: string): Promise<void> {
    const args = [`--net=/run/netns/knarr-${this.name}${part}`, "sh", "-c", "echo in; exec sleep 1000"];
    const child = spawn("nsenter", args, { stdio: ["ignore", "pipe", "ignore"] });
    this.#children.push(child);
    await once(child.stdout, "data");
  }

  async leave(): Promise<void> {
    for (const child of this.#children.splice(0)) {
      const end = once(child, "exit");
      child.kill("SIGKILL");
      await end;
    }
  }

  async down(): Promise<string> {
    const child = spawn(launcher, ["down", `--name=${this.name}`, `--data-dir=${this.folder}`], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    await once(child, "close");
    return said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave();
    for (const part of this.left) ip("netns", "delete", `knarr-${this.name}${part}`);
    for (const folder of [this.folder, this.runFolder]) rmSync(folder, { recursive: true, force: true });
  }
}

test("down removes what only a cluster of that name can have left, and nothing else", {
  skip: impossible,
}, async () => {
  await using w = new Leftovers();
  const others = ["", "-node-", "-node-1-node-1", "-node-1x", "-other", "2-node-1", "2-.switch"];
  w.make(...others, "-.switch", "-node-1", "-node-7");
  ip("link", "add", linkOf(w.name), "type", "veth", "peer", "name", "host", "netns", `knarr-${w.name}-.switch`);
  assert.match(await w.down(), /is gone/);
  assert.deepEqual(w.left, others.toSorted());
  assert.throws(() => ip("link", "show", linkOf(w.name)), /does not exist/);
  assert.match(await w.down(), /nothing to do/);
});

test("down leaves alone what others use, and says who", { skip: impossible }, async () => {
  await using w = new Leftovers();
  w.make("-.switch", "-node-1");
  await w.inhabit("-node-1");
  assert.match(await w.down(), /others use them, so nothing was removed: process \d+ \(sleep 1000\)/);
  assert.deepEqual(w.left, ["-.switch", "-node-1"]);
  await w.leave();
  assert.match(await w.down(), /is gone/);
  assert.deepEqual(w.left, []);
});

test("down leaves alone what is of another folder", { skip: impossible }, async () => {
  await using w = new Leftovers();
  w.make("-.switch", "-node-1");
  mkdirSync(w.runFolder, { recursive: true });
  const elsewhere = join(w.folder, "elsewhere", w.name);
  mkdirSync(elsewhere, { recursive: true });
  writeFileSync(join(w.runFolder, "home"), elsewhere);
  assert.match(await w.down(), /nothing to do/, "that cluster is there");
  rmSync(elsewhere, { recursive: true });
  assert.match(await w.down(), new RegExp(`knarr down --name=${w.name} --data-dir=${join(w.folder, "elsewhere")}`));
  assert.deepEqual(w.left, ["-.switch", "-node-1"]);
  writeFileSync(join(w.runFolder, "home"), join(w.folder, w.name));
  assert.match(await w.down(), /is gone/);
  assert.deepEqual([w.left, existsSync(w.runFolder)], [[], false]);
});
