// Tens of thousands of damaged requests through the front door of a server in a process of its own. Every answer is a right one or a
// refusal in the API's own words, nothing is stored that was not acknowledged, and memory stays where it was.
// KNARR_FUZZ=100000 sends more, KNARR_SEED=7 others.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from "node:http2";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { catalog } from "#api/catalog.ts";
import { Status } from "#api/meta/status.ts";
import { explain } from "#base/errors.ts";
import { seededRandom } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { ServerProcess } from "../harness.ts";
import { type DrawnRequest, HostileRequests } from "./requests.ts";

const REQUESTS = Number(process.env.KNARR_FUZZ ?? 50_000);
const SEED = Number(process.env.KNARR_SEED ?? 1);
const SESSIONS = 4;
const STREAMS = 32;
const REQUESTS_PER_SESSION = 900;
/** A request that hangs; a busy machine takes its time. */
const LONGEST_ANSWER_MS = 200_000;
/**
 * What a server may take more after all of them than after a tenth. What it really holds grows by some 30 MiB, of history and records that
 * are bounded; the rest is bodies on their way, at most 3 MiB each, whose memory is used again but not given back.
 */
const GROWTH_BYTES = 300 * 1024 * 1024;

interface Answer {
  readonly code: number;
  readonly type: string;
  readonly body: Buffer;
}

test(`${REQUESTS} damaged requests get right answers, and only what was accepted is stored`, {}, async (t) => {
  await using server = await ServerProcess.start();
  const tls = { ca: readFileSync(server.file("ca.crt")) };
  const admin = { ...tls, cert: readFileSync(server.file("admin.crt")), key: readFileSync(server.file("admin.key")) };
  const sessions: ClientHttp2Session[] = [];
  const open = (options: SecureClientSessionOptions): ClientHttp2Session => {
    const session = connect(server.url, options);
    sessions.push(session);
    return session;
  };
  try {
    const control = open(admin);
    await send(control, post("/api/v1/namespaces", { metadata: { name: "fuzz" } }));
    const acknowledged = new Set<string>();
    // The server makes these again when they are deleted.
    const own = new Set((await everything(control)).map(({ what }) => what));
    const requests = new HostileRequests(seededRandom(SEED), SEED);
    const bound = new Set<string>();
    const writes: string[] = [];
    const wrong: string[] = [];
    const codes: Record<number, number> = {};
    let sent = 0;
    let rssBefore = 0;

    const client = async (next: () => ClientHttp2Session) => {
      while (sent < REQUESTS && wrong.length < 20) {
        if (++sent === Math.floor(REQUESTS / 10)) rssBefore = server.residentBytes;
        const request = requests.next();
        const answer = await send(next(), request).catch((error) => {
          wrong.push(explain(error));
          return undefined;
        });
        if (!answer) continue;
        codes[answer.code] = (codes[answer.code] ?? 0) + 1;
        if (request.method !== "GET")
          writes.push(`${describe(request)} -> ${answer.code} ${[...writtenBy(answer)].join()}`);
        const problem = problemWith(answer, request);
        if (problem !== undefined) wrong.push(`${problem}: ${describe(request)}\n    ${short(answer.body)}`);
        for (const version of writtenBy(answer)) acknowledged.add(version);
        // Bindings and evictions are answered with a Status, which does not say what became of the pod.
        const [, pod] = /\/namespaces\/(\w+\/pods\/\w+)\/(binding|eviction)/.exec(request.path) ?? [];
        if (pod !== undefined && answer.code < 300) bound.add(`pods ${pod.replace("/pods", "")}`);
      }
    };
    await Promise.all([
      ...Array.from({ length: SESSIONS }, () => renewed(() => open(admin))).flatMap((next) =>
        Array.from({ length: STREAMS }, () => client(next)),
      ),
      client(renewed(() => open(tls))),
    ]);

    assert.equal(wrong.length, 0, wrong.join("\n"));
    const afterwards = open(admin); // the first has been idle for longer than a connection may be, on a slow machine
    const unacknowledged = (await everything(afterwards)).filter(
      ({ what, version }) => !acknowledged.has(version) && !bound.has(what) && !own.has(what),
    );
    const about = writes.filter((write) => unacknowledged.some(({ what }) => write.includes(what.split(" ")[0] ?? "")));
    assert.deepEqual(unacknowledged, [], `stored, but never acknowledged\n${about.join("\n")}`);
    const growth = server.residentBytes - rssBefore;
    assert.ok(growth < GROWTH_BYTES, `the server grew by ${growth} bytes`);
    t.diagnostic(
      `${sent} requests by code: ${JSON.stringify(codes)}; memory grew by ${growth >> 20} MiB to ${server.residentBytes >> 20} MiB`,
    );
    assert.equal((await send(afterwards, get("/readyz"))).code, 200);
  } finally {
    for (const session of sessions) session.destroy();
  }
});

/**
 * Answers that come before all was sent make Node's client cancel its stream, and the server closes a connection that cancels too
 * often. So none is used for more requests than may be cancelled.
 */
function renewed(open: () => ClientHttp2Session): () => ClientHttp2Session {
  let session = open();
  let left = REQUESTS_PER_SESSION;
  return () => {
    if (left-- === 0) {
      session = open();
      left = REQUESTS_PER_SESSION - 1;
    }
    return session;
  };
}

const get = (path: string): DrawnRequest => ({ method: "GET", path, headers: {}, body: undefined });
const post = (path: string, body: unknown): DrawnRequest => ({
  method: "POST",
  path,
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify(body)),
});

function send(session: ClientHttp2Session, { method, path, headers, body }: DrawnRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ...headers, ":method": method, ":path": path }, { endStream: body === undefined });
    stream.setTimeout(LONGEST_ANSWER_MS, () => stream.destroy(new Error("it takes too long")));
    let answer = { code: 0, type: "", encoding: "" };
    const chunks: Buffer[] = [];
    stream.on("response", (head) => {
      const encoding = String(head["content-encoding"] ?? "");
      answer = { code: Number(head[":status"]), type: String(head["content-type"] ?? ""), encoding };
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.once("error", (cause) =>
      reject(new Error(`no answer: ${describe({ method, path, headers, body })}`, { cause })),
    );
    // An answer may come before all was sent; Node's client then never says that the stream is closed.
    for (const last of ["end", "close"])
      stream.once(last, () => {
        const bytes = Buffer.concat(chunks);
        resolve({ ...answer, body: answer.encoding === "gzip" && bytes.length > 0 ? gunzipSync(bytes) : bytes });
      });
    if (body !== undefined) stream.end(body);
  });
}

/** What upstream answers so, too, though the server is not at fault. */
const ofUpstream = [
  /^504 .*Too large resource version/s,
  /^503 .*(no endpoints available for service|no service port|no preferred addresses found)/s,
];

/** Upstream refuses some requests with 500 and no reason. A fault of ours always has the reason InternalError. */
const isPlainRefusal = (code: number, body: Buffer): boolean =>
  code === 500 && body.length > 0 && !/InternalError|Internal error/.test(body.toString("latin1"));
/** What the server says of groups and versions that it has not, without looking any further. */
const noSuchGroup = "404 page not found\n";

/** What is wrong with the answer to a request of which nothing is expected but that the server understands it or says why not. */
function problemWith(answer: Answer, { method, path }: DrawnRequest): string | undefined {
  const { code, type, body } = answer;
  if (code === 0) return "no answer";
  if (method === "HEAD" && code !== 500) return body.length > 0 ? "a body in answer to HEAD" : undefined;
  if (code >= 500) {
    const isRight = isPlainRefusal(code, body) || ofUpstream.some((one) => one.test(`${code} ${body}`));
    return isRight ? undefined : `code ${code}`;
  }
  if (code === 404 && body.toString() === noSuchGroup) return undefined;
  const isApi = /^\/apis?\//.test(path);
  try {
    const object = decoded(answer);
    if (object === undefined) return isApi && code >= 400 ? `${code} as ${type}` : undefined;
    if (code < 400) return undefined;
    if (object.kind !== "Status" || object.status !== "Failure") return `${code} without a Status`;
    if (object.code !== code) return `${code}, and ${object.code} in the Status`;
    if (!object.message || !object.reason) return `${code} without a reason`;
    return undefined;
  } catch (error) {
    return `${code} with a body that cannot be read (${error})`;
  }
}

function decoded({ type, body }: Answer): Readonly<Record<string, unknown>> | undefined {
  if (type.startsWith("application/json")) return JSON.parse(body.toString());
  if (type.startsWith("application/yaml")) return parseYaml(body.toString()).value as Readonly<Record<string, unknown>>;
  if (type.startsWith("application/vnd.kubernetes.protobuf")) {
    assert.equal(body.subarray(0, 4).toString("latin1"), "k8s\0");
    return body.includes("Status") ? protobufCodec.decode(Status, body).object : {};
  }
  return undefined;
}

/** Every resourceVersion that an answer tells of; those of lists of deleted objects, too. */
function* writtenBy({ code, type, body }: Answer): Generator<string> {
  if (code >= 400) return;
  if (type.includes("protobuf")) yield* versionsInProtobuf(body);
  else for (const [, version] of body.toString().matchAll(/resourceVersion"?:\s*"(\d+)"/g)) yield version as string;
}

/** Field 6 of ObjectMeta, wherever it may be. */
function* versionsInProtobuf(body: Buffer): Generator<string> {
  for (let at = body.indexOf(0x32); at >= 0; at = body.indexOf(0x32, at + 1)) {
    const length = body[at + 1] ?? 0;
    const text = body.toString("latin1", at + 2, at + 2 + length);
    if (length < 16 && /^\d+$/.test(text)) yield text;
  }
}

/** All objects there are. */
async function everything(
  session: ClientHttp2Session,
): Promise<readonly { readonly what: string; readonly version: string }[]> {
  const kinds = catalog.filter(
    ({ stored, verbs, kind }) => stored !== false && verbs.includes("list") && kind !== "ComponentStatus",
  );
  const found: { what: string; version: string }[] = [];
  for (const kind of kinds) {
    const { code, body } = await send(session, get(collectionOf(kind)));
    assert.equal(code, 200, `${kind.plural}: ${body}`);
    for (const { metadata } of JSON.parse(body.toString()).items) {
      // The server makes these for services, after it has answered.
      if (metadata.labels?.["ipaddress.kubernetes.io/managed-by"] === "ipallocator.k8s.io") continue;
      found.push({
        what: `${kind.plural} ${metadata.namespace ?? ""}/${metadata.name}`,
        version: metadata.resourceVersion,
      });
    }
  }
  return found;
}

const collectionOf = ({ group, version, plural }: AnyKind): string =>
  group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;

const describe = ({ method, path, headers, body }: DrawnRequest): string =>
  `${method} ${short(path)} ${short(JSON.stringify(headers))} ${body === undefined ? "" : short(body)}`;

/** One of a few characters again and again says no more than one of it. */
const short = (text: string | Buffer): string =>
  JSON.stringify(text.toString().replaceAll(/(.{1,5}?)\1{20,}/gs, "$1…")).slice(1, 900);
