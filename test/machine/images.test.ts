// The images that come with a cluster, in a real containerd.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { demoImages } from "#cluster/images/demo.ts";
import { digestOf, ownArchitecture } from "#cluster/images/image.ts";
import { importImages } from "#cluster/images/import.ts";
import { KeptImages } from "#cluster/images/kept-images.ts";
import { loadArchive } from "#cluster/images/load.ts";
import { pauseProgram } from "#cluster/images/pause.ts";
import { tarOf } from "#cluster/images/tar.ts";
import { ImagesNode } from "./images-node.ts";
import { impossible } from "./machine.ts";

const { signal } = new AbortController();
const page = async (ip: string, path = "/"): Promise<string> => {
  const answer = await fetch(`http://${ip}${path}`, { signal: AbortSignal.timeout(10_000) });
  return `${answer.status} ${await answer.text()}`;
};

/** nginx listens a moment after it was started. */
async function served(ip: string): Promise<string> {
  for (let tries = 0; ; tries++)
    try {
      return await page(ip);
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

test("demo images run in a real containerd", { skip: impossible }, async (t) => {
  await using node = await ImagesNode.start();
  const cacheFolder = join(node.machine.root, "cache");
  mkdirSync(cacheFolder);
  const { archives, missing } = await demoImages({ cacheFolder }, signal);
  if (missing.length > 0) return t.skip(missing.join("; "));
  const paths = archives.map(({ archive }) => archive);
  const start = performance.now();
  const names = archives.flatMap(({ references }) => references);
  assert.deepEqual(await importImages(node.containerd, paths, signal), names);
  t.diagnostic(`imported in ${(performance.now() - start).toFixed(0)} ms`);
  const again = performance.now();
  assert.deepEqual(await importImages(node.containerd, paths, signal), [], "nothing is imported twice");
  t.diagnostic(`found present in ${(performance.now() - again).toFixed(0)} ms`);
  const { runtime } = node;

  await t.test("nginx serves a page that names its version and its pod", async () => {
    const old = await node.run({ image: "knarr.local/nginx:1.0" });
    const fresh = await node.run({ image: "knarr.local/nginx:1.1" });
    assert.match(await served(old.ip), new RegExp(`^200 .*Version 1\\.0, served by ${old.pod.metadata.name}\\.`, "s"));
    assert.match(await served(fresh.ip), new RegExp(`Version 1\\.1, served by ${fresh.pod.metadata.name}\\.`));
    assert.equal(await page(old.ip, "/healthz"), "200 ok\n");
    assert.match(await page(old.ip, "/none"), /^404 /);
    const words = await runtime.exec(old.container, ["wget", "-qO-", "http://localhost/healthz"], signal);
    assert.equal(Buffer.from(words.output).toString(), "ok\n");
  });

  await t.test("busybox has a shell, and a wget that keeps the time", async () => {
    const { container } = await node.run({ image: "knarr.local/busybox:1.0", command: ["sleep", "1000"] });
    const said = async (...command: readonly string[]) => {
      const { exitCode, output } = await runtime.exec(container, command, signal);
      return `${exitCode} ${Buffer.from(output)}`;
    };
    assert.equal(await said("sh", "-c", "echo $((6 * 7)) | cat; id -un"), "0 42\nroot\n");
    for (const limit of [["-T", "5"], ["-T5"], ["--timeout", "5"], ["--timeout=5"]])
      assert.match(await said("wget", ...limit, "-q", "--spider", "http://127.0.0.1/"), /^1 wget: can't connect/);
    const silent = "sleep 3 | nc -l -p 81 >/dev/null 2>&1 & until grep -q ':0051 .* 0A ' /proc/net/tcp*; do :; done";
    assert.match(await said("sh", "-c", `${silent}; wget -T 1 -O- http://127.0.0.1:81/`), /^1 .*timed out\n$/s);
  });

  await t.test("nginx goes on for a moment when it is asked to end, and then ends gracefully", async () => {
    const { ip, pod, container } = await node.run({ image: "knarr.local/nginx:1.0" });
    await served(ip);
    const stopped = runtime.stopContainer(container, 30_000, signal);
    assert.match(await page(ip), /^200 /);
    await stopped;
    const [state] = (await runtime.observe(pod.metadata.uid, signal)).containers;
    assert.equal(`${state?.phase} ${state?.exitCode}`, "exited 0");
  });
});

test("an archive of docker save, loaded into a node, runs there under the names that people use", {
  skip: impossible,
}, async () => {
  await using node = await ImagesNode.start();
  const { machine, containerd, runtime } = node;
  const layer = tarOf([{ name: "pause", mode: 0o755, content: pauseProgram() }]);
  const config = {
    architecture: ownArchitecture,
    os: "linux",
    config: { Entrypoint: ["/pause"] },
    rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
  };
  const saved = tarOf([
    { name: "c.json", content: Buffer.from(JSON.stringify(config)) },
    { name: "l/layer.tar", content: gzipSync(layer) },
    {
      name: "manifest.json",
      content: Buffer.from(JSON.stringify([{ Config: "c.json", RepoTags: ["app:1.0"], Layers: ["l/layer.tar"] }])),
    },
  ]);
  const path = join(machine.root, "saved.tar.gz");
  writeFileSync(path, gzipSync(saved));
  const kept = new KeptImages(join(machine.root, "kept"));
  const nodes = [{ name: "a", runtime: containerd }];
  const names = await loadArchive(path, { kept, nodes, keep: true, progress: () => undefined }, signal);
  assert.deepEqual(names, ["docker.io/library/app:1.0"]);
  const { pod } = await node.run({ image: "app:1.0" });
  const [state] = (await runtime.observe(pod.metadata.uid, signal)).containers;
  assert.equal(state?.phase, "running");
  assert.deepEqual(await importImages(containerd, kept.archives(), signal), [], "a start finds it there");
});
