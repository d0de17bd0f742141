import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { parseJson } from "#schema/json.ts";
import { ImageArchive } from "./archive.ts";
import { recipe } from "./demo.ts";
import { blobName, digestOf, type ImageSpec, imageArchive, mediaTypes, ownArchitecture } from "./image.ts";
import { type ImageRuntime, importImages } from "./import.ts";
import { KeptImages } from "./kept-images.ts";
import { loadArchive } from "./load.ts";
import { registry, registryHosts } from "./registry.ts";
import { serveRegistry } from "./serve-registry.ts";
import { ImageSupply, NodeImages } from "./supply.ts";
import { type TarEntry, tarOf } from "./tar.ts";

const { signal } = new AbortController();

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "knarr-load-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A runtime that remembers what it was given. */
class FakeRuntime implements ImageRuntime {
  readonly images = new Map<string, string>();
  loads = 0;

  async ctr(): Promise<string> {
    const rows = [...this.images].map(
      ([reference, digest]) => `${reference} ${mediaTypes.manifest} ${digest} 1 KiB - -`,
    );
    return ["REF TYPE DIGEST SIZE PLATFORMS LABELS", ...rows, ""].join("\n");
  }

  async load(path: string): Promise<void> {
    this.loads++;
    await using archive = await ImageArchive.open(path);
    for (const { reference, digest } of await archive.images()) this.images.set(reference, digest);
  }
}

async function loaded(folder: string, content: Uint8Array, runtime = new FakeRuntime()): Promise<readonly string[]> {
  const path = join(folder, "given.tar");
  writeFileSync(path, content);
  const kept = new KeptImages(join(folder, "kept"));
  const nodes = [{ name: "node-1", runtime }];
  return loadArchive(path, { kept, nodes, keep: true, progress: () => undefined }, signal);
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const layer = tarOf([{ name: "app", mode: 0o755, content: Buffer.from("#!/bin/sh\n") }]);
const config = json({
  architecture: ownArchitecture,
  os: "linux",
  rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
});

const dockerSave = (image: object = {}, ...more: readonly TarEntry[]): Buffer =>
  tarOf([
    { name: "abc/" },
    { name: "abc/layer.tar", content: layer },
    { name: "abc/copy.tar", link: "../abc/layer.tar" },
    { name: "config.json", content: config },
    ...more,
    {
      name: "manifest.json",
      content: json([
        {
          Config: "config.json",
          RepoTags: ["app:1.0", "team/app"],
          Layers: ["abc/layer.tar", "abc/copy.tar"],
          ...image,
        },
      ]),
    },
  ]);

const blob = (content: Buffer): TarEntry => ({ name: blobName(digestOf(content)), content });
const described = (mediaType: string, content: Buffer, rest: object = {}) => ({
  mediaType,
  digest: digestOf(content),
  size: content.length,
  ...rest,
});
const manifest = json({
  schemaVersion: 2,
  config: described(mediaTypes.config, config),
  layers: [described(mediaTypes.layer, layer)],
});
const named = (name: string) => ({ annotations: { "org.opencontainers.image.ref.name": name } });
const layout = (manifests: readonly object[], ...blobs: readonly TarEntry[]): Buffer =>
  tarOf([
    { name: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
    { name: "index.json", content: json({ schemaVersion: 2, manifests }) },
    ...blobs,
  ]);
const whole = [blob(layer), blob(config), blob(manifest)];
const platform = (os: string, architecture: string) => ({ platform: { os, architecture } });
const platforms = json({
  schemaVersion: 2,
  mediaType: mediaTypes.index,
  manifests: [
    { ...described(mediaTypes.manifest, Buffer.from("not in the archive")), ...platform("linux", "s390x") },
    described(mediaTypes.manifest, manifest, platform("linux", ownArchitecture)),
    { ...described(mediaTypes.manifest, Buffer.from("attestation")), ...platform("unknown", "unknown") },
  ],
});

const archives: readonly (readonly [string, Buffer, readonly string[]])[] = [
  ["docker save", dockerSave(), ["docker.io/library/app:1.0", "docker.io/team/app:latest"]],
  [
    "podman",
    layout([described(mediaTypes.manifest, manifest, named("localhost/app:2"))], ...whole),
    ["localhost/app:2"],
  ],
  [
    "buildx, for several platforms",
    layout([described(mediaTypes.index, platforms, named("registry.example:5000/app:3"))], ...whole, blob(platforms)),
    ["registry.example:5000/app:3"],
  ],
  [
    "newer versions of docker save, in both forms at once",
    dockerSave(
      {},
      {
        name: "index.json",
        content: json({
          manifests: [
            {
              ...described(mediaTypes.manifest, manifest),
              annotations: {
                "io.containerd.image.name": "docker.io/library/app:4",
                "org.opencontainers.image.ref.name": "4",
              },
            },
          ],
        }),
      },
      ...whole,
    ),
    ["docker.io/library/app:4"],
  ],
];
for (const [name, content, references] of archives)
  test(`load: archives of ${name} are read, plain and compressed, and kept in one form`, () =>
    inFolder(async (folder) => {
      const runtime = new FakeRuntime();
      for (const bytes of [content, gzipSync(content), zstdCompressSync(content)])
        assert.deepEqual(await loaded(folder, bytes, runtime), references);
      assert.equal(runtime.loads, 3);
      assert.deepEqual(readdirSync(join(folder, "kept")), ["3.tar"], "the same names replace what was there");
      const folderOf = mkdtempSync(join(folder, "x-"));
      execFileSync("tar", ["-xf", join(folder, "kept", "3.tar")], { cwd: folderOf });
      const index = parseJson(readFileSync(join(folderOf, "index.json"), "utf8")).value as {
        manifests: readonly { digest: string }[];
      };
      for (const { digest } of index.manifests) {
        const found = parseJson(readFileSync(join(folderOf, blobName(digest)), "utf8")).value as typeof parsed;
        const parsed = found as { config: { digest: string }; layers: readonly { digest: string }[] };
        for (const part of [parsed.config, ...parsed.layers])
          assert.equal(digestOf(readFileSync(join(folderOf, blobName(part.digest)))), part.digest);
      }
    }));

const foreign = json({ architecture: "s390x", os: "linux" });
const foreignManifest = json({ config: described(mediaTypes.config, foreign), layers: [] });
const refusals: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["no archive", Buffer.from("hello"), /is no archive of images: it has neither/],
  ["some other file", Buffer.alloc(4096, "text "), /cannot be read as an archive of images: it is no tar archive/],
  ["an empty file", Buffer.alloc(0), /is no archive of images: it has neither/],
  [
    "an archive of something else",
    tarOf([{ name: "a", content: Buffer.from("a") }]),
    /neither the index\.json of OCI nor/,
  ],
  ["one that is cut off", dockerSave().subarray(0, 2000), /cannot be read as an archive of images: it is cut off/],
  ["a gzip that is cut off", gzipSync(dockerSave()).subarray(0, 200), /read .*given\.tar \(gzip\)$/],
  ["xz", Buffer.from("\xfd7zXZ\0more", "latin1"), /is compressed by xz; decompress it first \(xz -d\)/],
  ["an image without a name", dockerSave({ RepoTags: null }), /no image in .* has a name; save it by its name/],
  ["a name that is none", dockerSave({ RepoTags: ["UPPER CASE"] }), /no image in .* has a name/],
  ["a layer that is missing", dockerSave({ Layers: ["nowhere"] }), /names a layer nowhere that it does not have/],
  ["an entry of another form", dockerSave({ Layers: 5 }), /an entry without Config or Layers/],
  [
    "an image of another machine",
    dockerSave({ Config: "s390x.json" }, { name: "s390x.json", content: foreign }),
    new RegExp(`image docker\\.io/library/app:1\\.0 is for linux/s390x, and the nodes are linux/${ownArchitecture}`),
  ],
  [
    "an OCI image of another machine",
    layout([described(mediaTypes.manifest, foreignManifest, named("app:1"))], blob(foreign), blob(foreignManifest)),
    /is for linux\/s390x/,
  ],
  [
    "an OCI index of other machines",
    layout(
      [
        described(
          mediaTypes.index,
          json({ manifests: [described(mediaTypes.manifest, manifest, platform("windows", "amd64"))] }),
          named("app:1"),
        ),
      ],
      ...whole,
      blob(json({ manifests: [described(mediaTypes.manifest, manifest, platform("windows", "amd64"))] })),
    ),
    /is for windows\/amd64, and the nodes are/,
  ],
  [
    "a blob that is missing",
    layout([described(mediaTypes.manifest, manifest, named("app:1"))], blob(config), blob(manifest)),
    /does not have all of image .*: blob sha256:\w+ is missing/,
  ],
  [
    "a blob that is damaged",
    layout([described(mediaTypes.manifest, manifest, named("app:1"))], blob(config), blob(manifest), {
      name: blobName(digestOf(layer)),
      content: Buffer.alloc(layer.length),
    }),
    /is damaged: blob sha256:\w+ has the digest/,
  ],
  [
    "a digest that leads out of the archive",
    layout([{ ...named("app:1"), digest: "sha256:../../etc/passwd", size: 1 }]),
    /a descriptor without a digest of SHA-256/,
  ],
  [
    "an index that is no JSON",
    tarOf([{ name: "index.json", content: Buffer.from("{") }]),
    /index\.json in .* is no JSON/,
  ],
];
for (const [name, content, message] of refusals)
  test(`load: ${name} is refused with the reason, and nothing is left of it`, () =>
    inFolder(async (folder) => {
      const runtime = new FakeRuntime();
      await assert.rejects(loaded(folder, content, runtime), message);
      assert.equal(runtime.loads, 0);
      assert.deepEqual(readdirSync(join(folder, "kept")), []);
    }));

test("load: a file that is not there is named", () =>
  inFolder(async (folder) => {
    const options = { kept: new KeptImages(folder), nodes: [], keep: true, progress: () => undefined };
    await assert.rejects(loadArchive(join(folder, "none.tar"), options, signal), /read .*none\.tar/);
  }));

test("load: whatever bytes an archive has, it is read or refused", () =>
  inFolder(async (folder) => {
    const good = dockerSave();
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.uint8Array({ minLength: 1, maxLength: 40 }), async (at, bytes) => {
        const bad = Buffer.from(good);
        bad.set(bytes.subarray(0, bad.length - at), at);
        try {
          await loaded(folder, bad);
        } catch (error) {
          assert.ok(error instanceof Error && !/undefined|NaN|\[object/.test(error.message), String(error));
        }
      }),
      { numRuns: 200 },
    );
  }));

test("load: archives of tar itself are read, with long names and links", () =>
  inFolder(async (folder) => {
    const source = mkdtempSync(join(folder, "s-"));
    const long = `${"long".repeat(40)}.tar`;
    writeFileSync(join(source, long), layer);
    symlinkSync(long, join(source, "link.tar"));
    writeFileSync(join(source, "c.json"), config);
    writeFileSync(
      join(source, "manifest.json"),
      json([{ Config: "c.json", RepoTags: ["x:1"], Layers: [long, "link.tar"] }]),
    );
    for (const format of ["gnu", "pax", "ustar"]) {
      if (format === "ustar") {
        copyFileSync(join(source, long), join(source, "l.tar"));
        rmSync(join(source, long));
        rmSync(join(source, "link.tar"));
        writeFileSync(
          join(source, "manifest.json"),
          json([{ Config: "c.json", RepoTags: ["x:1"], Layers: ["l.tar"] }]),
        );
      }
      const made = execFileSync("tar", [`--format=${format}`, "-cf", "-", "."], { cwd: source });
      assert.deepEqual(await loaded(folder, made), ["docker.io/library/x:1"], format);
    }
  }));

const image = (reference: string, content: string): ImageSpec => ({
  references: [reference],
  layers: [[{ name: "a", content: Buffer.from(content) }]],
});

test("import: what is there is not imported again, and of the same name the last counts", () =>
  inFolder(async (folder) => {
    const write = (name: string, ...specs: readonly ImageSpec[]) => {
      writeFileSync(join(folder, name), imageArchive(specs));
      return join(folder, name);
    };
    const first = write("1", image("x.example/a:1", "old"), image("x.example/b:1", "b"));
    const second = write("2", image("x.example/a:1", "new"));
    const runtime = new FakeRuntime();
    assert.deepEqual(await importImages(runtime, [first, second], signal), ["x.example/b:1", "x.example/a:1"]);
    const state = new Map(runtime.images);
    assert.deepEqual(await importImages(runtime, [first, second], signal), []);
    runtime.images.delete("x.example/b:1");
    assert.deepEqual(await importImages(runtime, [first, second], signal), ["x.example/b:1", "x.example/a:1"]);
    assert.deepEqual(new Map([...runtime.images].toSorted()), new Map([...state].toSorted()));
  }));

test("registry: images of knarr.local are served by name and digest, others are not", () =>
  inFolder(async (folder) => {
    const path = join(folder, "i.tar");
    writeFileSync(
      path,
      imageArchive([image("knarr.local/team/web:1", "web"), image("docker.io/library/secret:1", "s")]),
    );
    await using archive = await ImageArchive.open(path);
    const [web, secret] = await archive.images();
    assert.ok(web && secret);
    const made: string[] = [];
    const handler = registry({
      archives: () => (made.length > 0 ? [path, join(folder, "made.tar")] : [path]),
      make: async (name) => {
        if (name !== "dns") return false;
        made.push(name);
        writeFileSync(join(folder, "made.tar"), imageArchive([image("knarr.local/dns:1", "dns")]));
        return true;
      },
    });
    const get = async (at: string, method = "GET") => {
      const { code, headers, body } = await handler({ method, path: at });
      const chunks: Uint8Array[] = typeof body === "string" ? [Buffer.from(body)] : [];
      if (typeof body !== "string") for await (const chunk of body) chunks.push(chunk);
      return { code, headers, bytes: Buffer.concat(chunks) };
    };
    assert.equal((await get("/v2/")).code, 200);
    const byName = await get("/v2/team/web/manifests/1");
    assert.equal(digestOf(byName.bytes), web.digest);
    assert.equal(byName.headers["docker-content-digest"], web.digest);
    assert.equal(byName.headers["content-type"], mediaTypes.manifest);
    assert.deepEqual(await get(`/v2/team/web/manifests/${web.digest}`), byName);
    const head = await get("/v2/team/web/manifests/1", "HEAD");
    assert.deepEqual([head.headers, head.bytes.length], [byName.headers, 0]);
    const { layers } = parseJson(byName.bytes.toString()).value as { layers: [{ digest: string; size: number }] };
    const layerBytes = await get(`/v2/team/web/blobs/${layers[0].digest}`);
    assert.equal(digestOf(layerBytes.bytes), layers[0].digest);
    for (const [at, method, code] of [
      ["/v2/team/web/manifests/2", "GET", 404],
      ["/v2/secret/manifests/1", "GET", 404],
      ["/v2/library/secret/manifests/1", "GET", 404],
      [`/v2/team/web/blobs/${secret.digest}`, "GET", 404],
      [`/v2/team/web/manifests/${secret.digest}`, "GET", 404],
      ["/v2/team/web/blobs/../../index.json", "GET", 404],
      ["/v1/_ping", "GET", 404],
      ["/v2/team/web/manifests/1", "PUT", 405],
    ] as const)
      assert.equal((await get(at, method)).code, code, at);
    for (const [tag, code] of [
      ["2", 404],
      ["1", 200],
    ] as const)
      assert.equal((await get(`/v2/dns/manifests/${tag}`)).code, code, `it is made when it is asked for: ${tag}`);
    assert.deepEqual(made, ["dns"], "and what is there is not made again");
  }));

test("registry: it serves over HTTP, and goes away", () =>
  inFolder(async (folder) => {
    const path = join(folder, "i.tar");
    writeFileSync(path, imageArchive([image("knarr.local/web:1", "web")]));
    const server = await serveRegistry({ address: "127.0.0.1", archives: () => [path], log: silentLog });
    const answer = await fetch(`${server.url}/v2/web/manifests/1`);
    assert.equal(answer.headers.get("docker-content-digest"), digestOf(Buffer.from(await answer.arrayBuffer())));
    assert.equal((await fetch(`${server.url}/v2/none/manifests/1`)).status, 404);
    assert.match(registryHosts(server.url), /^server = "http:\/\/127\.0\.0\.1:\d+"\ncapabilities = /);
    await server[Symbol.asyncDispose]();
    await assert.rejects(fetch(server.url));
  }));

test("supply: a node gets demo images and loaded ones, of which the loaded count, and is told where the registry is", () =>
  inFolder(async (folder) => {
    const demo = imageArchive([image("knarr.local/a:1", "demo"), image("knarr.local/b:1", "b")]);
    writeFileSync(join(folder, "demo.tar"), demo);
    writeFileSync(join(folder, "demo.json"), JSON.stringify({ recipe, references: [], inputs: [] }));
    const own = join(folder, "own.tar");
    writeFileSync(own, imageArchive([image("knarr.local/a:1", "mine")]));
    await using archive = await ImageArchive.open(own);
    const [mine] = await archive.images();
    const kept = new KeptImages(join(folder, "kept"));
    const runtime = new (class extends FakeRuntime {
      failures = 1;
      override async load(path: string): Promise<void> {
        if (this.failures-- > 0) throw new Error("containerd is not there yet");
        await super.load(path);
      }
    })();
    const nodes = [{ name: "n", runtime: new FakeRuntime() }];
    await loadArchive(own, { kept, nodes, keep: true, progress: () => undefined }, signal);
    const stop = new AbortController();
    const supply = new ImageSupply({
      cacheFolder: folder,
      kept,
      address: "127.0.0.1",
      clock: systemClock,
      log: silentLog,
    });
    const images = supply.to({ runtime, registries: join(folder, "registries") });
    const waits = ["knarr.local/a:1", "knarr.local/a:1", "example.com/other:1"].map((name) =>
      images.waitFor(name, signal),
    );
    const ran = supply.run(stop.signal);
    const brought = images.run(stop.signal);
    try {
      assert.deepEqual(await Promise.all(waits), [true, true, true], "pulls wait, and none for ever");
      await until(() => runtime.images.size === 2);
      assert.equal(await images.waitFor("knarr.local/a:1", signal), false, "there is nothing to wait for any more");
      assert.deepEqual([...runtime.images.keys()].toSorted(), ["knarr.local/a:1", "knarr.local/b:1"]);
      assert.equal(runtime.images.get("knarr.local/a:1"), mine?.digest);
      const hosts = readFileSync(join(folder, "registries", "knarr.local", "hosts.toml"), "utf8");
      const [, url] = /server = "(.*)"/.exec(hosts) ?? [];
      const served = await fetch(`${url}/v2/a/manifests/1`);
      assert.equal(served.headers.get("docker-content-digest"), mine?.digest);
      await served.arrayBuffer();
    } finally {
      stop.abort(new Error("enough"));
    }
    await assert.rejects(ran, /enough/);
    await brought.catch((error) => assert.match(String(error), /enough/));
  }));

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await systemClock.sleep(5, signal);
}

test("supply: a pull of what the cluster brings waits for it, though it is still to be made, and for a failure, too", () =>
  inFolder(async (folder) => {
    const demo = Promise.withResolvers<readonly string[]>();
    const options = { cacheFolder: folder, kept: new KeptImages(join(folder, "kept")), address: "127.0.0.1" };
    const parts = { url: Promise.resolve("http://127.0.0.1:1"), demo: demo.promise };
    const runtime = new FakeRuntime();
    const node = { runtime, registries: join(folder, "registries") };
    const images = new NodeImages(node, { ...options, clock: systemClock, log: silentLog }, parts);
    const stop = new AbortController();
    const ran = images.run(stop.signal);
    const order: string[] = [];
    const pull = images.waitFor("knarr.local/busybox", signal).then(() => order.push("pulled"));
    await images.waitFor("docker.io/library/other:1", signal);
    order.push("made");
    const archive = join(folder, "demo.tar");
    writeFileSync(archive, imageArchive([image("knarr.local/busybox:latest", "b")]));
    demo.resolve([archive]);
    await pull;
    assert.deepEqual(order, ["made", "pulled"]);
    assert.deepEqual([...runtime.images.keys()], ["knarr.local/busybox:latest"]);
    const gone = new AbortController();
    const late = new NodeImages(
      node,
      { ...options, clock: systemClock, log: silentLog },
      { ...parts, demo: new Promise(() => undefined) },
    );
    const waiting = late.waitFor("knarr.local/busybox", gone.signal);
    gone.abort(new Error("the pod is gone"));
    await assert.rejects(waiting, /the pod is gone/);
    stop.abort(new Error("enough"));
    await ran.catch((error) => assert.match(String(error), /enough/));
  }));
