// How long one request keeps the event loop, whatever is sent: bodies of up to 3 MiB of which one part is as large as it may be, in
// every format and by every kind of patch, and large answers. The longest turn of the server's loop, without the time in which the
// machine ran something else. KNARR_BENCH_PARTS=0.1 sends a tenth of the bodies.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { AnyKind } from "#schema/kind.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { countFor } from "../test/apiserver/hostile/large-bodies.ts";
import { distinctParts, type LargePart } from "../test/apiserver/hostile/large-objects.ts";
import { type Measured, makeBundle, makeKeys, startKnarr } from "./apiserver/servers.ts";
import type { Report } from "./figure.ts";
import { pod } from "./schema.ts";

const mostBytes = 2_900_000;
const mostStored = 1_300_000;
const longestMs = 50;
const listed = 5000;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly accept?: string;
  readonly body?: string;
}

export async function run(report: Report): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "knarr-loop-"));
  const bundle = makeBundle();
  const folder = join(root, "keys");
  mkdirSync(folder);
  const server = await startKnarr(bundle, await makeKeys(folder), ["--store=memory", `--data-dir=${root}`]);
  const session = connect(`https://127.0.0.1:${server.port}`, {
    cert: server.cert,
    key: server.key,
    rejectUnauthorized: false,
  });
  try {
    await send(session, { method: "POST", path: "/api/v1/namespaces", body: `{"metadata":{"name":"default"}}` });
    for (const [name, requests] of Object.entries(suites())) await measure(name, requests, { server, session, report });
    await answers({ server, session, report });
  } finally {
    session.destroy();
    await server.stop();
    rmSync(root, { recursive: true, force: true });
    rmSync(dirname(bundle), { recursive: true, force: true });
  }
}

interface Bench {
  readonly server: Measured;
  readonly session: ClientHttp2Session;
  readonly report: Report;
}

/** Each request by itself, and the longest of their turns. */
async function measure(name: string, requests: Iterable<Sent>, { server, session, report }: Bench): Promise<void> {
  let longest = { ms: 0, of: "" };
  for (const request of requests) {
    await server.usage("stalls");
    const code = await send(session, request);
    const { ownMs } = await server.usage();
    if (ownMs > longest.ms) longest = { ms: ownMs, of: `${request.method} ${request.path.split("?")[0]} ${code}` };
  }
  report({ name: `${name}: longest turn (${longest.of})`, value: longest.ms, unit: "ms", goal: { atMost: longestMs } });
}

function send(session: ClientHttp2Session, { method, path, type, accept, body }: Sent): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": method,
      ":path": path,
      "user-agent": "bench",
      ...(accept && { accept }),
      ...(body !== undefined && { "content-type": type ?? "application/json" }),
    });
    let code = 0;
    stream.on("response", (headers) => {
      code = Number(headers[":status"]);
    });
    stream.resume();
    stream.on("error", reject);
    stream.on("end", () => resolve(code));
    stream.end(body);
  });
}

const collectionOf = ({ group, version, scope, plural }: AnyKind): string =>
  `${group === "" ? "/api" : `/apis/${group}`}/${version}${scope === "Namespaced" ? "/namespaces/default" : ""}/${plural}`;

/** As much of the part as a body may have. */
const largest = (part: LargePart, bytes: number): string => JSON.stringify(part.of(countFor(part, 1, bytes)));

function suites(): Readonly<Record<string, Iterable<Sent>>> {
  const share = Number(process.env.KNARR_BENCH_PARTS ?? 1);
  const all = distinctParts();
  const parts = all.filter((_, i) => Math.floor(i * share) !== Math.floor((i - 1) * share));
  const create = function* (
    of: readonly LargePart[],
    bytes: number,
    write = (json: string) => json,
    type = "application/json",
  ) {
    for (const part of of)
      yield { method: "POST", path: `${collectionOf(part.kind)}?dryRun=All`, type, body: write(largest(part, bytes)) };
  };
  const wide = parts.filter(({ is }) => is !== "text");
  const unknown = Array.from({ length: 24_000 }, (_, i) => `"u${i}":1`).join(",");
  return {
    "bodies that could be stored": create(wide, mostStored),
    "bodies of 3 MiB": create(wide, mostBytes),
    "texts of 3 MiB": create(
      parts.filter(({ is }) => is === "text"),
      mostBytes,
    ),
    "YAML of 64 KiB": create(
      wide,
      60_000,
      (json) => printYaml(JSON.parse(json)).slice(0, 64 * 1024),
      "application/yaml",
    ),
    "YAML of 3 MiB": create(wide, mostStored, (json) => printYaml(JSON.parse(json)), "application/yaml"),
    "unknown fields": [
      { method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: `{${unknown}}` },
    ],
  };
}

/** Lists and watches of many pods, in every form. */
async function answers(bench: Bench): Promise<void> {
  const path = "/api/v1/namespaces/bench/pods";
  await send(bench.session, { method: "POST", path: "/api/v1/namespaces", body: `{"metadata":{"name":"bench"}}` });
  for (let i = 0; i < listed; i++)
    await send(bench.session, { method: "POST", path, body: JSON.stringify(pod(`listed-${i}`)) });
  const as = (kind: string) => `application/json;as=${kind};v=v1;g=meta.k8s.io`;
  const forms: Readonly<Record<string, Sent>> = {
    JSON: { method: "GET", path },
    "indented JSON": { method: "GET", path: `${path}?pretty=true` },
    "a table": { method: "GET", path, accept: as("Table") },
    metadata: { method: "GET", path, accept: as("PartialObjectMetadataList") },
    YAML: { method: "GET", path, accept: "application/yaml" },
    protobuf: { method: "GET", path, accept: "application/vnd.kubernetes.protobuf" },
    "JSON by labels": { method: "GET", path: `${path}?labelSelector=app!%3Dx` },
    "a watch": { method: "GET", path: `${path}?watch=true&timeoutSeconds=1` },
    "OpenAPI v2": { method: "GET", path: "/openapi/v2" },
    metrics: { method: "GET", path: "/metrics" },
  };
  for (const [name, request] of Object.entries(forms))
    await measure(`${listed} pods as ${name}`, [request, request], bench);
}
