// Answers that change seldom, kept on disk in the layout that kubectls share
// (upstream: client-go/discovery/cached/disk/round_tripper.go).
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApiError, hasCode } from "#base/errors.ts";
import type { RestClient } from "./client.ts";
import type { RestRequest, RestResponse } from "./request.ts";

interface CacheEntry {
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

const sumLength = 32;
/** Others ask so, and the address is the name under which an answer is kept. */
const usualTimeout = ["timeout", "32s"] as const;

/**
 * The text of an answer: the one on disk if it never changes, or if the server says that it has not. Rejects as the client does; a folder
 * that cannot be used is none.
 */
export async function cachedText(client: RestClient, folder: string, asked: RestRequest): Promise<string> {
  const request = { ...asked, query: [...(asked.query ?? []), usualTimeout] };
  const file = join(folder, hash(client.urlOf(request)).toString("hex"));
  const kept = readKept(file, request);
  if (kept && isImmutable(kept)) return kept.body.toString("utf8");
  const etag = kept?.headers.get("etag");
  try {
    const answer = await client.open({ ...request, ...(etag !== undefined && { headers: { "if-none-match": etag } }) });
    const body = Buffer.from(await client.read(answer));
    keep(folder, file, request, answer, body);
    return body.toString("utf8");
  } catch (error) {
    if (kept && error instanceof ApiError && error.code === 304) return kept.body.toString("utf8");
    throw error;
  }
}

const hash = (data: string | Uint8Array): Buffer => createHash("sha256").update(data).digest();

const isImmutable = ({ headers }: CacheEntry): boolean => /\bimmutable\b/.test(headers.get("cache-control") ?? "");

/** Undefined if there is none, if it is spoilt, or if it answers another question at that address. */
function readKept(file: string, request: RestRequest): CacheEntry | undefined {
  const bytes = readOrNothing(file);
  const answer = bytes?.subarray(sumLength);
  if (!bytes || !answer || !hash(answer).equals(bytes.subarray(0, sumLength))) return undefined;
  const end = answer.indexOf("\r\n\r\n");
  const [status = "", ...lines] = answer.subarray(0, Math.max(0, end)).toString("latin1").split("\r\n");
  if (!/^HTTP\/[\d.]+ 200 /.test(status)) return undefined;
  const headers = new Map(
    lines.map((line) => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const;
    }),
  );
  const body = answer.subarray(end + 4);
  const length = headers.get("content-length");
  const isOther =
    /\baccept\b(?!-)/i.test(headers.get("vary") ?? "") && headers.get("x-varied-accept") !== acceptOf(request);
  // A real one may have written it in chunks, which are not worth to be read.
  const isPlain = !headers.has("transfer-encoding") && !headers.has("content-encoding");
  if (isOther || !isPlain || (length !== undefined && Number(length) !== body.length)) return undefined;
  return { headers, body };
}

const acceptOf = ({ accept }: RestRequest): string => accept ?? "application/json";

function readOrNothing(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "EACCES", "EISDIR")) return undefined;
    throw error;
  }
}

function keep(folder: string, file: string, request: RestRequest, { headers }: RestResponse, body: Buffer): void {
  const told = (name: string) => [headers[name] ?? []].flat().join(", ");
  if (told("etag") === "" || /no-store/.test(told("cache-control"))) return;
  const head = [
    "HTTP/1.1 200 OK",
    ...["cache-control", "content-type", "date", "etag", "expires", "vary"].flatMap((name) =>
      told(name) === "" ? [] : [`${name}: ${told(name)}`],
    ),
    `x-varied-accept: ${acceptOf(request)}`,
    `content-length: ${body.length}`,
  ];
  const answer = Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o750 });
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, Buffer.concat([hash(answer), answer]), { mode: 0o660 });
    renameSync(draft, file);
  } catch (error) {
    // Commands work without it, only slower.
    if (!hasCode(error, "EACCES", "EROFS", "ENOENT", "ENOTDIR", "ENOSPC", "EPERM", "EEXIST")) throw error;
  }
}
