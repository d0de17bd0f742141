import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { extract, packed } from "../commands/stream/local-files.ts";
import { readTar } from "./read.ts";
import { paddingOf, TarError, type TarHeader } from "./tar.ts";
import { tarEnd, tarHeader } from "./write.ts";

class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "knarr-tar-"));
  at = (...names: readonly string[]) => join(this.path, ...names);
  [Symbol.dispose] = () => rmSync(this.path, { recursive: true, force: true });
}

const header = (changes: Partial<TarHeader>): TarHeader => ({
  name: "x",
  type: "file",
  mode: 0o644,
  uid: 0,
  gid: 0,
  size: 0,
  mtime: 0,
  linkName: "",
  ...changes,
});

const entry = (changes: Partial<TarHeader>, content = ""): readonly Uint8Array[] => [
  tarHeader(header({ size: content.length, ...changes })),
  Buffer.from(content),
  new Uint8Array(paddingOf(content.length)),
];

/** In pieces of an odd size, as a connection brings them. */
async function* pieces(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  const whole = Buffer.concat(parts);
  for (let at = 0; at < whole.length; at += 333) yield whole.subarray(at, at + 333);
}

async function extracted(folder: Folder, prefix: string, ...parts: readonly Uint8Array[]): Promise<readonly string[]> {
  const warnings: string[] = [];
  await extract(pieces(...parts, tarEnd()), {
    prefix,
    target: folder.at("to"),
    shown: "to",
    warn: (text) => warnings.push(text),
    linkHint: " (hint)",
  });
  return warnings;
}

const long = `${"folder/".repeat(20)}${"n".repeat(120)}`;

test("what is packed here, tar unpacks, long names and links too", async () => {
  using folder = new Folder();
  mkdirSync(folder.at("from", long.slice(0, long.lastIndexOf("/"))), { recursive: true });
  writeFileSync(folder.at("from", long), "long");
  writeFileSync(folder.at("from", "größe"), "x".repeat(100_000), { mode: 0o750 });
  mkdirSync(folder.at("from", "empty"));
  symlinkSync(`../${"t".repeat(150)}`, folder.at("from", "link"));
  const parts: Uint8Array[] = [];
  for await (const part of packed(folder.at("from"), "named")) parts.push(part);
  mkdirSync(folder.at("to"));
  execFileSync("tar", ["-xf", "-", "-C", folder.at("to")], { input: Buffer.concat(parts) });
  assert.equal(execFileSync("diff", ["-r", "--no-dereference", folder.at("from"), folder.at("to/named")]).length, 0);
});

test("what tar packs is unpacked here, in every format; a second name of a file is a copy", async () => {
  for (const format of ["gnu", "pax", "ustar"]) {
    using folder = new Folder();
    const name = format === "ustar" ? "short" : long;
    mkdirSync(join(folder.at("from", name), ".."), { recursive: true });
    writeFileSync(folder.at("from", name), "content");
    execFileSync("ln", [folder.at("from", name), folder.at("from", "zz-second")]);
    const archive = execFileSync("tar", ["-C", folder.path, `--format=${format}`, "-cf", "-", "from"]);
    assert.deepEqual(await extracted(folder, "from", archive), []);
    assert.equal(readFileSync(folder.at("to", name), "utf8"), "content", format);
    assert.equal(readFileSync(folder.at("to", "zz-second"), "utf8"), "content", format);
  }
});

test("nothing is written outside of the destination, by names or by links", async () => {
  using folder = new Folder();
  writeFileSync(folder.at("secret"), "mine");
  const warnings = await extracted(
    folder,
    "from",
    ...entry({ name: "from/../../secret" }, "theirs"),
    ...entry({ name: "from/way", type: "symlink", linkName: ".." }),
    ...entry({ name: "from/way/secret" }, "theirs"),
    ...entry({ name: "from/hard", type: "hardlink", linkName: "../secret" }),
    ...entry({ name: "from/again", type: "symlink", linkName: "/etc/passwd" }),
    ...entry({ name: "from/fine" }, "fine"),
  );
  assert.deepEqual(warnings, [
    'file "../secret" is outside target destination, skipping',
    'skipping symlink: "to/way" -> ".." (hint)',
    'skipping link: "from/hard" -> "../secret"',
    'skipping symlink: "to/again" -> "/etc/passwd"',
  ]);
  assert.equal(readFileSync(folder.at("secret"), "utf8"), "mine");
  assert.equal(readFileSync(folder.at("to/way/secret"), "utf8"), "theirs");
  assert.equal(readFileSync(folder.at("to/fine"), "utf8"), "fine");
  assert.equal(existsSync(folder.at("to/hard")), false);
});

test("a name that was not asked for is refused, and so is an absolute one", async () => {
  using folder = new Folder();
  await assert.rejects(extracted(folder, "from", ...entry({ name: "/etc/cron.d/x" }, "theirs")), /contents corrupted/);
  await assert.rejects(extracted(folder, "from", ...entry({ name: "other" }, "theirs")), /contents corrupted/);
  assert.equal(existsSync(folder.at("to")), false);
});

test("what is cut off, no archive, or lies about its size is told", async () => {
  const names = async (...parts: readonly Uint8Array[]) => {
    const found: string[] = [];
    for await (const { name } of readTar(pieces(...parts))) found.push(name);
    return found;
  };
  const whole = Buffer.concat(entry({ name: "a" }, "12345"));
  assert.deepEqual(await names(whole, tarEnd()), ["a"]);
  await assert.rejects(names(whole.subarray(0, 514)), { name: "TarError", message: "unexpected EOF" });
  await assert.rejects(names(whole.subarray(0, 100)), TarError);
  await assert.rejects(names(Buffer.alloc(512, "no archive at all ")), /invalid tar header/);
  await assert.rejects(names(tarHeader(header({ size: 8 ** 11 - 1 }))), /unexpected EOF/);
  const liar = Buffer.from(tarHeader(header({ name: "x".repeat(300) })));
  liar.write("77777777777", 124);
  await assert.rejects(names(liar), /invalid tar header/);
});

test("bytes of chance never do worse than fail", async () => {
  let seed = 1;
  const next = () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed >> 16;
  };
  const archive = Buffer.concat([...entry({ name: long }, "abc"), ...entry({ name: "b" }, "x".repeat(2000)), tarEnd()]);
  for (let round = 0; round < 500; round++) {
    const broken = Buffer.from(archive);
    for (let i = 0; i < 3; i++) broken[next() % broken.length] = next() & 255;
    try {
      for await (const { content } of readTar(pieces(broken))) for await (const _ of content);
    } catch (error) {
      assert.ok(error instanceof TarError, String(error));
    }
  }
});
