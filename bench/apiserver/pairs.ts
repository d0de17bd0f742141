// What something costs a pod create: whole servers over HTTPS, the store on disk, half of them with it and half without, in turn. Processor
// time, since other things run on the machine, too.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { RawRequest } from "#wire/testing/raw-http2.ts";
import { median } from "../figure.ts";
import { pod } from "../schema.ts";
import { Clients } from "./load.ts";
import { type Measured, makeBundle, makeKeys, startKnarr } from "./servers.ts";

export const creates = 100;
/** Short rounds: what else the machine does falls on both alike. The first third is for the compiler. */
export const rounds = 90;
/** What the compiler inlines differs from process to process, and with it the time: each pair of servers gives one ratio. */
const pairs = 5;

export interface Addition {
  /** The flags of the servers that have it; the folder is theirs. */
  flags?(folder: string): readonly string[];
  /** Makes what they need. */
  prepare?(server: Measured): Promise<void>;
  /** Throws if it was not in force. */
  check?(folder: string, server: Measured): Promise<void> | void;
}

/** Microseconds of the processor for a pod create. */
export interface PairCosts {
  readonly without: number;
  readonly with: number;
  /** How much more it is, in percent. */
  readonly added: number;
}

export async function comparePairs(addition: Addition): Promise<PairCosts> {
  const root = mkdtempSync(join(tmpdir(), "knarr-pairs-"));
  const bundle = makeBundle();
  try {
    const keys = await makeKeys(folder(root, "keys"));
    const results: Record<Side, number>[] = [];
    for (let i = 0; i < pairs; i++) {
      const data = folder(root, `pair-${i}`);
      const start = (name: Side, flags: readonly string[] = []) =>
        startKnarr(bundle, keys, [`--data-dir=${folder(data, name)}`, ...flags]);
      results.push(
        await onePair(addition, data, {
          without: await start("without"),
          with: await start("with", addition.flags?.(data)),
        }),
      );
    }
    const middle = (of: (result: Record<Side, number>) => number) => median(results.map(of));
    return {
      without: middle((result) => result.without),
      with: middle((result) => result.with),
      added: middle((result) => (result.with / result.without - 1) * 100),
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
    rmSync(dirname(bundle), { recursive: true, force: true });
  }
}

type Side = "without" | "with";
const sides = ["without", "with"] as const;

async function onePair(
  addition: Addition,
  data: string,
  servers: Readonly<Record<Side, Measured>>,
): Promise<Record<Side, number>> {
  try {
    await addition.prepare?.(servers.with);
    const clients = {
      without: await Clients.connect(servers.without, 4),
      with: await Clients.connect(servers.with, 4),
    };
    const times: Record<Side, number[]> = { without: [], with: [] };
    for (let round = 0; round < rounds; round++)
      for (const side of sides) {
        await servers[side].usage();
        await clients[side].run({ streams: 8, count: creates, request: (i) => creation(round * creates + i) });
        const { cpuMs } = await servers[side].usage();
        if (round >= rounds / 3) times[side].push((cpuMs * 1000) / creates);
      }
    const last = JSON.parse(creation(rounds * creates - 1).body?.toString() ?? "");
    for (const side of sides)
      if ((await post(servers[side], podsPath, last)) !== 409) throw new Error("the last pod was not created");
    await addition.check?.(data, servers.with);
    for (const side of sides) clients[side].close();
    return { without: median(times.without), with: median(times.with) };
  } finally {
    for (const side of sides) await servers[side].stop();
  }
}

function folder(parent: string, name: string): string {
  mkdirSync(join(parent, name));
  return join(parent, name);
}

const podsPath = "/api/v1/namespaces/default/pods";

const creation = (i: number): RawRequest => ({
  method: "POST",
  path: podsPath,
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify({ ...pod("x"), metadata: { name: `bench-${i}`, labels: { app: "bench" } } })),
});

/** One request to a server; gives the code of the answer. */
export function post({ port, cert, key }: Measured, path: string, object: object): Promise<number> {
  const headers = { "content-type": "application/json" };
  const options = { host: "127.0.0.1", port, path, method: "POST", cert, key, headers, rejectUnauthorized: false };
  return new Promise((resolve, reject) =>
    request(options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end(JSON.stringify(object)),
  );
}
