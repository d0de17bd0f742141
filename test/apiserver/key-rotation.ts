// Keys of encryption are rotated while a server is written to and killed. What it acknowledged must be there, and once all is written
// with the newest key and the file is written anew, no older key may be needed for anything, or be good for anything.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { type Random, seededRandom } from "#base/random.ts";
import { aesGcm } from "#store/host/ciphers.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { ServerProcess } from "./harness.ts";
import { type Caller, callerOf } from "./https-call.ts";

const writers = 8;
const mostWritesBeforeKill = 150;
const path = "/api/v1/namespaces/default/secrets";
const plain = "hunter-";
/** What plain text could look like in the store: the value itself, or as the object has it, in base64. */
const plainTexts = [plain, Buffer.from(plain).toString("base64").slice(0, -3), '"kind":"Secret"'];

interface SecretObject {
  readonly metadata: { readonly name: string };
  readonly data: { readonly value: string };
}
interface SecretList {
  readonly items: readonly SecretObject[];
}

class KeyRing {
  readonly #keys: { readonly name: string; readonly secret: Buffer }[] = [];

  get newest() {
    return this.#keys[0] as { readonly name: string; readonly secret: Buffer };
  }

  /** How many are in use. */
  get size(): number {
    return this.#keys.length;
  }

  add(): void {
    this.#keys.unshift({ name: `key${randomBytes(3).toString("hex")}`, secret: randomBytes(32) });
  }

  /** Forgets all but the newest; answers the others. */
  dropOld() {
    return this.#keys.splice(1);
  }

  write(file: string): void {
    const keys = this.#keys.map(({ name, secret }) => `{name: ${name}, secret: ${secret.toString("base64")}}`);
    writeFileSync(
      file,
      `kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources: [{resources: [secrets], providers: [{aesgcm: {keys: [${keys.join(", ")}]}}]}]\n`,
    );
  }
}

/** What the server has acknowledged: for each name the values of which one must be there. */
class Acknowledged {
  readonly #values = new Map<string, Set<string>>();
  count = 0;

  /** A write is on its way: it may or may not come to be. */
  tried(name: string, value: string): void {
    const values = this.#values.get(name);
    if (values) values.add(value);
    else this.#values.set(name, new Set(["", value]));
  }

  done(name: string, value: string): void {
    this.#values.set(name, new Set([value]));
    this.count++;
  }

  verify(items: readonly SecretObject[], when: string): void {
    const found = new Map(items.map(({ metadata, data }) => [metadata.name, data.value]));
    for (const [name, values] of this.#values)
      assert.ok(values.has(found.get(name) ?? ""), `${name} is ${found.get(name)} ${when}, not one of ${[...values]}`);
  }
}

export interface RotationFigures {
  readonly kills: number;
  /** Kills while secrets were being written anew with a newer key. */
  readonly amidMigration: number;
  /** Keys that were taken out of use in between. */
  readonly rotations: number;
  readonly writes: number;
}

export async function rotateUnderKills(kills: number, seed: number): Promise<RotationFigures> {
  const folder = mkdtempSync(join(tmpdir(), "knarr-rotation-"));
  try {
    return await rotateIn(join(folder, "encryption.yaml"), kills, seed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function rotateIn(file: string, kills: number, seed: number): Promise<RotationFigures> {
  const random = seededRandom(seed);
  const ring = new KeyRing();
  const dropped: { readonly name: string; readonly secret: Buffer }[] = [];
  const acknowledged = new Acknowledged();
  ring.add();
  ring.write(file);
  await using server = await ServerProcess.start({
    store: "embedded",
    flags: [`--encryption-provider-config=${file}`],
  });
  let rotations = 0;
  let amidMigration = 0;
  for (let round = 0; round < kills; round++) {
    const killed = { is: false };
    const call = callerOf(server);
    const enough = Promise.withResolvers<void>();
    const limit = acknowledged.count + 1 + random.below(mostWritesBeforeKill);
    const load = Array.from({ length: writers }, (_, id) =>
      write(call, `w-${id}`, random, acknowledged, () => {
        if (acknowledged.count >= limit) enough.resolve();
        return killed.is;
      }),
    );
    let isMigrating = true;
    const migration = migrate(call)
      .catch(() => false) // killed in the middle of it
      .finally(() => {
        isMigrating = false;
      });
    await Promise.race([enough.promise, Promise.all(load)]);
    assert.ok(acknowledged.count >= limit, "the writers ended before the server was killed");
    // Every third time the migration may end first; in between it is struck in the middle.
    const isMigrated = round % 3 === 2 && (await migration);
    killed.is = true;
    if (isMigrating && ring.size > 1) amidMigration++;
    await server.kill("SIGKILL");
    await Promise.all(load);
    if (isMigrated && ring.size > 1) {
      dropped.push(...ring.dropOld());
      rotations++;
    }
    if (ring.size === 1) ring.add();
    ring.write(file);
    await server.start();
    const { code, json } = await callerOf(server)<SecretList>("GET", path);
    assert.equal(code, 200, `after kill ${round + 1}: ${JSON.stringify(json).slice(0, 300)}`);
    acknowledged.verify(json.items, `after kill ${round + 1}`);
  }
  assert.equal(await migrate(callerOf(server)), true);
  dropped.push(...ring.dropOld());
  ring.write(file);
  await server.kill("SIGTERM");
  await server.start();
  const { json } = await callerOf(server)<SecretList>("GET", path);
  acknowledged.verify(json.items, "with the newest key alone");
  await server.kill("SIGTERM");
  await examine(join(server.folder, "data"), ring.newest, dropped);
  const figures = { kills, amidMigration, rotations, writes: acknowledged.count };
  assert.ok(acknowledged.count >= kills && (rotations > 0 || kills < 10), JSON.stringify(figures));
  return figures;
}

/** Creates and changes a few secrets again and again, until the server is gone. */
async function write(
  call: Caller,
  prefix: string,
  random: Random,
  acknowledged: Acknowledged,
  isOver: () => boolean,
): Promise<void> {
  for (let i = 0; !isOver(); i = (i + 1) % 10) {
    const name = `${prefix}-${i}`;
    const value = Buffer.from(`${plain}${random.uuid()}`).toString("base64");
    acknowledged.tried(name, value);
    const body = { apiVersion: "v1", kind: "Secret", metadata: { name }, data: { value } };
    try {
      const { code } = await call("PUT", `${path}/${name}`, body);
      if (code === 404) {
        const made = await call("POST", path, body);
        assert.equal(made.code, 201);
      } else assert.equal(code, 200);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return; // killed: whether this one was written is not known
    }
    acknowledged.done(name, value);
  }
}

/** Writes every secret as it is, as `kubectl get secrets -A -o json | kubectl replace -f -` does. Another writer who comes first has done it. */
async function migrate(call: Caller): Promise<boolean> {
  const { json } = await call<SecretList>("GET", "/api/v1/secrets");
  for (const secret of json.items) {
    const { namespace = "default", name } = secret.metadata as { readonly namespace?: string; readonly name: string };
    const { code } = await call("PUT", `/api/v1/namespaces/${namespace}/secrets/${name}`, secret);
    assert.ok(code === 200 || code === 409, `${code}`);
  }
  return true;
}

type Key = KeyRing["newest"];

/** Looks at the bytes in the store: each value is the newest key's, the old ones open none, and the files hold nothing of theirs. */
async function examine(folder: string, newest: Key, dropped: readonly Key[]): Promise<void> {
  assert.deepEqual(tracesIn(folder, plainTexts), [], "plain text in the files, free room included");
  const store = await openLmdbStore({ folder, clock: systemClock });
  try {
    const { entries } = await store.list("/registry/secrets/");
    assert.ok(entries.length >= writers);
    const prefix = prefixOf(newest);
    for (const { key, value } of entries) {
      assert.equal(Buffer.from(value).toString("latin1", 0, prefix.length), prefix, key);
      const sealed = value.subarray(prefix.length);
      aesGcm(newest.secret, seededRandom(1)).read(sealed, key);
      for (const { secret } of dropped)
        assert.throws(() => aesGcm(secret, seededRandom(1)).read(sealed, key), /authentication failed/);
    }
  } finally {
    await store.close();
  }
  // As docs/security.md tells to do after a rotation: history and free room are left out.
  for (const verb of ["compact", "shrink"]) knarrStore(verb, folder);
  assert.deepEqual(tracesIn(folder, dropped.map(prefixOf)), [], "values of old keys in the files");
  assert.notDeepEqual(tracesIn(folder, [prefixOf(newest)]), [], "the search finds what is there");
}

const prefixOf = ({ name }: Key): string => `k8s:enc:aesgcm:v1:${name}:`;

/** Which of the texts are somewhere in the files of a folder. */
function tracesIn(folder: string, texts: readonly string[]): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.ok(files.length > 0, folder);
  return files.flatMap(({ parentPath, name }) => {
    const bytes = readFileSync(join(parentPath, name));
    return texts.filter((text) => bytes.includes(text)).map((text) => `${text} in ${name}`);
  });
}

function knarrStore(verb: string, folder: string): void {
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [main, "store", verb, folder], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}
