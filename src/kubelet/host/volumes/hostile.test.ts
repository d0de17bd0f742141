// What a container can do to its volumes while the kubelet works on them as root: a process of its own swaps a folder and a link to a
// folder of the host as fast as it can. Nothing that is not the volume's may be changed, read or counted.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import { podOf } from "../../testing.ts";
import { lastWords } from "../cri/last-words.ts";
import { readLog } from "../cri/log-file.ts";
import { writeAs } from "./files.ts";
import { folderBytes } from "./folder-bytes.ts";
import { ensureHostPath } from "./kinds/host-path.ts";
import { giveToGroup } from "./ownership.ts";
import { removeTree } from "./remove-tree.ts";
import { openBelow } from "./sub-path.ts";

const noRoot = process.getuid?.() === 0 ? false : "only root may give files away";
const tries = 400;
const secretBytes = 4 * 2 ** 20;

/** Swaps `d`, a folder, with `link`, and makes them again where they were removed. */
const swapping = `
  const { mkdirSync, renameSync, symlinkSync, writeFileSync } = require("node:fs");
  const [volume, host] = process.argv.slice(1);
  const at = (name) => volume + "/" + name;
  const attempt = (change) => { try { change(); } catch { /* the other process was faster: the next round tries again */ } };
  for (let round = 0; ; round++) {
    try {
      renameSync(at("d"), at("aside")); renameSync(at("link"), at("d"));
      renameSync(at("d"), at("link")); renameSync(at("aside"), at("d"));
    } catch {
      attempt(() => renameSync(at("d"), at("link")));
      attempt(() => renameSync(at("aside"), at("d")));
      attempt(() => mkdirSync(at("d"), { recursive: true }));
      attempt(() => writeFileSync(at("d/shadow"), "own", { flag: "wx" }));
      attempt(() => symlinkSync(host, at("link")));
    }
    if (round === 100) process.stdout.write("ready");
  }`;

/** A volume that is under attack, and a folder of the host with what must not be touched. */
async function underAttack() {
  const folder = mkdtempSync(join(tmpdir(), "knarr-hostile-"));
  const [host, volume] = [join(folder, "host"), join(folder, "volume")];
  mkdirSync(host, { mode: 0o700 });
  writeFileSync(join(host, "shadow"), Buffer.alloc(secretBytes, "s"), { mode: 0o600 });
  const attacker = spawn(process.execPath, ["-e", swapping, volume, host], { stdio: ["ignore", "pipe", "inherit"] });
  await once(attacker.stdout, "data");
  return {
    volume,
    /** What the host's folder is like; the same for ever. */
    look: () => ({
      names: readdirSync(host),
      modes: [host, join(host, "shadow")].map((path) => statSync(path).mode & 0o7777),
      groups: [host, join(host, "shadow")].map((path) => statSync(path).gid),
      size: statSync(join(host, "shadow")).size,
    }),
    async [Symbol.asyncDispose]() {
      attacker.kill("SIGKILL");
      await once(attacker, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const pod = podOf({ securityContext: { fsGroup: 4242 } });

/** What the kubelet does as root in places that containers write. What is in the way may make it fail, but nothing more. */
const works: Readonly<Record<string, (volume: string) => Promise<void>>> = {
  "giving a volume to a group": (volume) => giveToGroup(volume, pod, "rw"),
  "counting what a volume holds": async (volume) => {
    const bytes = await folderBytes(volume);
    assert.ok(bytes < secretBytes, `${bytes} bytes were counted`);
  },
  "making and opening a part of a volume": async (volume) => {
    const handle = await openBelow(volume, "d/made", "of the root");
    await handle.close();
  },
  "reading a file of a volume": async (volume) => {
    const handle = await openBelow(volume, "d/shadow");
    try {
      if (!(await handle.stat()).isFile()) return;
      const file = await open(`/proc/self/fd/${handle.fd}`);
      assert.ok((await file.readFile()).length < secretBytes);
      await file.close();
    } finally {
      await handle.close();
    }
  },
  "making a folder that a hostPath asks for": async (volume) => {
    await ensureHostPath(join(volume, "d/wanted"), "DirectoryOrCreate");
    rmSync(join(volume, "d/wanted"), { recursive: true, force: true });
  },
  "removing a volume": removeTree,
};

for (const [what, work] of Object.entries(works))
  test(`${what} goes nowhere else while a container swaps folders and links`, { skip: noRoot }, async () => {
    await using attack = await underAttack();
    // A hostPath is a path of the host: it may well lead through a link that is there already, and only its making is watched.
    const isOfHost = what.includes("hostPath");
    const before = attack.look();
    for (let i = 0; i < tries; i++) {
      try {
        await work(attack.volume);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        assert.ok(isRefusal(error), String(error));
      }
      if (!isOfHost) assert.deepEqual(attack.look(), before, `try ${i}`);
    }
    assert.deepEqual({ ...attack.look(), names: before.names }, before);
  });

const isRefusal = (error: unknown): boolean =>
  /leads out of its volume|is not there|was replaced/.test(String(error)) ||
  hasCode(error, "ENOENT", "ENOTDIR", "EEXIST", "ELOOP", "ENOTEMPTY", "EISDIR");

test("what containers write is neither read nor written through a link", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-links-"));
  writeFileSync(join(folder, "host"), "secret", { mode: 0o600 });
  const said = join(folder, "u1/containers/c");
  mkdirSync(said, { recursive: true });
  symlinkSync(join(folder, "host"), join(said, "0"));
  const ended = {
    labels: { "io.kubernetes.pod.uid": "u1" },
    annotations: {},
    metadata: { name: "c", attempt: 0 },
    exitCode: 1,
    message: "",
    logPath: "",
  };
  await assert.rejects(lastWords(folder, ended), { code: "ELOOP" });
  await assert.rejects(writeAs(join(said, "0"), "mine", 0o666), { code: "ELOOP" });
  const log = { path: join(said, "0"), isRunning: async () => false, clock: systemClock };
  const query = { follow: false, tailLines: undefined };
  await assert.rejects(readLog(log, query, new AbortController().signal).next(), { code: "ELOOP" });
  assert.equal(readFileSync(join(folder, "host"), "utf8"), "secret");
  assert.equal((await stat(join(folder, "host"))).mode & 0o777, 0o600);
  rmSync(folder, { recursive: true });
});

test("folders that are nested deeper than a path can be long are given, counted and removed", {
  skip: noRoot,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-deep-"));
  const nest = `process.chdir(${JSON.stringify(folder)});
    const { mkdirSync, writeFileSync } = require("node:fs");
    const name = "d".repeat(200);
    for (let i = 0; i < 150; i++) { mkdirSync(name); process.chdir(name); }
    writeFileSync("bottom", Buffer.alloc(${secretBytes}));`;
  const [code] = await once(spawn(process.execPath, ["-e", nest], { stdio: "inherit" }), "exit");
  assert.equal(code, 0);
  await giveToGroup(folder, pod, "rw");
  assert.ok((await folderBytes(folder)) >= secretBytes);
  await removeTree(folder);
  assert.throws(() => lstatSync(folder), { code: "ENOENT" });
});
