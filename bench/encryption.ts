// What encryption at rest costs: Secrets written through the API server into an embedded store, plain and with each provider, in turns. What
// counts is how many are acknowledged in a second; processor time is shown beside it, since other things run on the machine, too.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEncryptionConfiguration } from "#apiserver/encryption/configuration.ts";
import { EncryptionProviders } from "#apiserver/host/encryption-providers.ts";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { encryptedStore } from "#store/encryption/encrypted-store.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { inLanes, median, type Report } from "./figure.ts";

const secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const keys = `{keys: [{name: key1, secret: ${secret}}]}`;
const providers = {
  plain: "identity: {}",
  aesgcm: `aesgcm: ${keys}`,
  aescbc: `aescbc: ${keys}`,
  secretbox: `secretbox: ${keys}`,
} as const;
type Name = keyof typeof providers;
const names = Object.keys(providers) as Name[];

const writes = 500;
const rounds = 7;
/** As large as a usual Secret with a certificate and its key. */
const secrets = "/api/v1/namespaces/default/secrets";
const secretOf = (i: number, round: number) => ({
  metadata: { name: `s-${i}`, namespace: "default" },
  data: { "tls.crt": "QUJD".repeat(500), "tls.key": "REVG".repeat(400), round: btoa(`${round}`) },
});

export async function run(report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "knarr-encryption-bench-"));
  const contenders: { readonly name: Name; readonly server: TestServer }[] = [];
  try {
    for (const name of names) contenders.push({ name, server: await start(join(folder, name), name) });
    const rates = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
    const costs = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
    for (let round = -1; round < rounds; round++)
      for (const { name, server } of contenders) {
        const begun = performance.now();
        const before = process.cpuUsage();
        // The same objects are written again and again, so that no contender has to live with what others have written.
        await inLanes(writes, async (i) => {
          const [method, path] = round < 0 ? ["POST", secrets] : ["PUT", `${secrets}/s-${i}`];
          const { code } = await server.call(method, path, secretOf(i, round));
          if (code >= 300) throw new Error(`${method} ${path} was answered ${code}`);
        });
        const { user, system } = process.cpuUsage(before);
        const seconds = (performance.now() - begun) / 1000;
        if (round < 0) continue; // until the compiler has settled
        rates[name].push(writes / seconds);
        costs[name].push((user + system) / writes);
      }
    for (const name of names) {
      report({ name: `${name}: secrets written`, value: median(rates[name]), unit: "1/s" });
      report({ name: `${name}: processor time of a write`, value: median(costs[name]), unit: "µs" });
    }
    // A round of each is compared with the one beside it: what slows the machine slows both.
    const shares = rates.aesgcm.map((rate, i) => rate / (rates.plain[i] ?? Number.NaN));
    report({ name: "aesgcm against plain, writes", value: median(shares), unit: "×", goal: { atLeast: 0.8 } });
  } finally {
    for (const { server } of contenders) await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function start(folder: string, name: Name): Promise<TestServer> {
  const rules = parseEncryptionConfiguration(`
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources: [{resources: [secrets], providers: [{${providers[name]}}]}]
`);
  const encryption = await EncryptionProviders.open(rules, {
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  const store = encryptedStore(await openLmdbStore({ folder, clock: systemClock }), encryption);
  return testServer({ store, protect: (object) => object });
}
