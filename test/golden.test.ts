// The recorded answers of a real kube-apiserver, sent to ours: no class of differences may grow beyond what `golden-allowed.ts` allows.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { allowed, type Class, extensionParts, type Part, parts } from "./golden-allowed.ts";
import { loopbackOnly } from "./loopback-only.ts";

const root = resolve(import.meta.dirname, "..");
const beside = resolve(root, "../shared/golden");
// A program that is reached by a link does not know that it is the one which was started.
const folder = existsSync(join(beside, "replay.mjs")) ? realpathSync(beside) : undefined;

interface Result {
  readonly part: Part;
  readonly id: string;
  readonly class: Class | "identical";
  readonly codes: readonly number[];
  readonly diff: readonly (readonly unknown[])[];
}

const start = [
  "./knarr apiserver --store=memory --bind-address=127.0.0.1 --secure-port={port} --data-dir={dir}/data",
  "--token-auth-file={tokens} --client-ca-file={ca} --service-account-signing-key-file={sa}",
  "--service-account-issuer=https://kubernetes.default.svc --advertise-address=192.0.2.10",
  "--service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction",
].join(" ");

async function replay(folder: string, part: Part): Promise<readonly Result[]> {
  const scratch = await mkdtemp(join(tmpdir(), "golden-"));
  try {
    const results = join(scratch, "results.json");
    const recording = join(folder, extensionParts.has(part) ? "extension.jsonl.gz" : "golden.jsonl.gz");
    const args = [join(folder, "replay.mjs"), recording, "--part", part, "--start", start, "--json", results];
    // Some recorded objects are API services and webhooks, which the server would connect to.
    const [program, all] = loopbackOnly(process.execPath, args);
    await promisify(execFile)(program, all, { cwd: root, maxBuffer: 2 ** 26 });
    return JSON.parse(await readFile(results, "utf8"));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

for (const part of parts)
  test(`requests of the part ${part} are answered as a real server answered them`, {
    skip: folder === undefined && "there is no ../shared/golden",
  }, async () => {
    if (folder === undefined) return;
    const results = await replay(folder, part);
    assert.ok(results.length > 0, `nothing of the part ${part} was sent`);
    const grown = Object.entries(allowed[part]).flatMap(([name, most]) => {
      const found = results.filter((result) => result.class === name);
      return found.length > most ? [`${found.length} ${name}, of which ${most} are allowed`, ...found.map(line)] : [];
    });
    assert.equal(grown.length, 0, grown.join("\n"));
  });

const line = ({ id, codes, diff }: Result): string =>
  `  ${id} ${codes.join("/")} ${JSON.stringify(diff[0] ?? []).slice(0, 200)}`;
