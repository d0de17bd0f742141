import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { ImageArchive } from "./archive.ts";
import { readElf } from "./elf.ts";
import { packagesIn } from "./fetch-packages.ts";
import { presentImages } from "./import.ts";
import { SystemFiles, withFolders } from "./system-files.ts";

const onLinux = { skip: process.platform !== "linux" && "programs of Linux are looked at" };

test("elf: a program names its loader and its libraries, a library only libraries", onLinux, () => {
  const node = readElf(readFileSync(process.execPath));
  assert.match(node?.interpreter ?? "", /^\/lib.*\/ld-/);
  assert.ok(node?.needed.includes("libc.so.6") || node?.needed.some((name) => name.startsWith("libc.musl")));
  const [, loader] = new SystemFiles(["/"]).program(process.execPath) ?? [];
  assert.equal(loader && readElf(loader.content)?.interpreter, undefined);
});

test("elf: what is no program is told as such, whatever bytes it has", () => {
  assert.equal(readElf(Buffer.from("#!/bin/sh\n")), undefined);
  const head = Buffer.from("\x7fELF\x02\x01\x01", "latin1");
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      try {
        readElf(Buffer.concat([head, bytes]));
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
    }),
  );
});

test(
  "system files: a program comes with its loader, its libraries and theirs, and those for looking names up",
  onLinux,
  () => {
    const files = new SystemFiles(["/"]).program(process.execPath);
    const paths = files?.map(({ path }) => path) ?? [];
    assert.equal(paths[0], process.execPath);
    assert.equal(new Set(paths).size, paths.length);
    assert.ok(paths.some((path) => /libm\.so|ld-musl/.test(path)));
  },
);

test("system files: of several roots the first counts, and a library that is nowhere is named", onLinux, () => {
  const root = mkdtempSync(join(tmpdir(), "knarr-files-"));
  try {
    const place = join(root, "/opt/tool");
    mkdirSync(dirname(place));
    writeFileSync(place, "mine");
    assert.equal(new SystemFiles([root, "/"]).find("/opt/none", "/opt/tool")?.source, place);
    assert.equal(new SystemFiles([root]).program("/opt/tool"), undefined, "no program");
    copyFileSync(process.execPath, place);
    chmodSync(place, 0o755);
    assert.throws(() => new SystemFiles([root]).program("/opt/tool"), /^Error: \/opt\/tool needs the loader \/lib/);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("system files: folders come before what is in them, in one order for all", () => {
  const entry = (name: string) => ({ name, content: Buffer.from(name) });
  const names = (...files: readonly string[]) => withFolders(files.map(entry)).map(({ name }) => name);
  assert.deepEqual(names("usr/bin/b", "bin/a"), ["bin/", "bin/a", "usr/", "usr/bin/", "usr/bin/b"]);
  assert.deepEqual(names("bin/a", "usr/bin/b"), names("usr/bin/b", "bin/a"));
});

test("fetch: packages are read from what apt would fetch", () => {
  const uris = [
    "'http://deb.example/b/busybox_1.35.0-4%2bb1_amd64.deb' busybox_1%3a1.35.0-4+b1_amd64.deb 452120 MD5Sum:98",
    "'http://deb.example/n/nginx-common_1.22.1-9_all.deb' nginx-common_1.22.1-9_all.deb 114932 ",
    "N: a note",
    "",
  ];
  assert.deepEqual(packagesIn(uris.join("\n")), ["busybox", "nginx-common"]);
});

test("import: names and digests are read from the table of containerd's client", () => {
  const table = [
    "REF                 TYPE                                       DIGEST     SIZE    PLATFORMS   LABELS",
    "knarr.local/pause:1 application/vnd.oci.image.manifest.v1+json sha256:aa  1.2 KiB linux/amd64 io.cri=managed",
    "sha256:bb           application/vnd.oci.image.manifest.v1+json sha256:aa  1.2 KiB linux/amd64 -",
    "",
  ];
  assert.equal(presentImages(table.join("\n")).get("knarr.local/pause:1"), "sha256:aa");
});

test("archive: what is no archive is named with the reason", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-archive-"));
  try {
    const path = join(folder, "x.tar");
    writeFileSync(path, "a".repeat(2048));
    await assert.rejects(ImageArchive.open(path), {
      message: `${path} cannot be read as an archive of images: it is no tar archive`,
    });
    assert.ok(existsSync(path));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
