import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { parseJson } from "#schema/json.ts";
import { imageArchive } from "./image.ts";
import { pauseProgram } from "./pause.ts";
import { tarOf } from "./tar.ts";

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "knarr-images-"));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("tar: what is packed here, tar unpacks", () =>
  inFolder((folder) => {
    const long = `${"deep/".repeat(40)}file`;
    const archive = tarOf([
      { name: "bin/", mode: 0o755 },
      { name: "bin/run", mode: 0o755, content: Buffer.from("hello") },
      { name: "link", link: "bin/run" },
      { name: long, content: Buffer.alloc(1_000, 7) },
    ]);
    writeFileSync(join(folder, "a.tar"), archive);
    execFileSync("tar", ["-xf", "a.tar"], { cwd: folder });
    assert.equal(readFileSync(join(folder, "link"), "utf8"), "hello");
    assert.deepEqual(readFileSync(join(folder, long)), Buffer.alloc(1_000, 7));
    const listed = execFileSync("tar", ["-tvf", "a.tar"], { cwd: folder, encoding: "utf8" });
    assert.match(listed, /^-rwxr-xr-x 0\/0 +5 .* bin\/run$/m);
  }));

test("image: the index leads to a manifest, a config and a layer whose digests fit", () =>
  inFolder((folder) => {
    writeFileSync(
      join(folder, "i.tar"),
      imageArchive([
        {
          references: ["knarr.local/x:1"],
          layers: [[{ name: "a", content: Buffer.from("a") }]],
          command: ["/a"],
        },
      ]),
    );
    execFileSync("tar", ["-xf", "i.tar"], { cwd: folder });
    const read = (path: string) => parseJson(readFileSync(join(folder, path), "utf8")).value as Record<string, unknown>;
    const blob = ({ digest }: { digest: string }) => `blobs/${digest.replace(":", "/")}`;
    const [manifest] = read("index.json").manifests as [{ digest: string; annotations: object }];
    assert.deepEqual(manifest.annotations, {
      "io.containerd.image.name": "knarr.local/x:1",
      "org.opencontainers.image.ref.name": "1",
    });
    const { config, layers } = read(blob(manifest)) as unknown as {
      config: { digest: string };
      layers: [{ digest: string }];
    };
    const sum = execFileSync("sha256sum", [join(folder, blob(layers[0]))], { encoding: "utf8" });
    assert.equal(sum.split(" ")[0], layers[0].digest.split(":")[1]);
    assert.deepEqual((read(blob(config)).rootfs as { diff_ids: string[] }).diff_ids, [layers[0].digest]);
  }));

test("pause: the program waits without using the processor, buries its children, and ends when asked", {
  skip: process.platform !== "linux" && "it is a program for Linux",
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-pause-"));
  const path = join(folder, "pause");
  writeFileSync(path, pauseProgram());
  chmodSync(path, 0o755);
  const child = spawn(path, { stdio: "ignore" });
  try {
    await once(child, "spawn");
    const statusNow = () => readFileSync(`/proc/${child.pid}/status`, "utf8");
    while (!/^Name:\s+pause\nUmask.*\nState:\s+S/m.test(statusNow())) await pause(10);
    const status = statusNow();
    const ignored = BigInt(`0x${/^SigIgn:\s+(\w+)/m.exec(status)?.[1]}`);
    assert.ok(((ignored >> 16n) & 1n) === 1n, "SIGCHLD is ignored");
    const wakeups = (text: string) => /^voluntary_ctxt_switches:\s+\d+$/m.exec(text)?.[0];
    await pause(100);
    assert.equal(wakeups(statusNow()), wakeups(status), "nothing wakes it up");
    const end = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await end, [0, null]);
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});
