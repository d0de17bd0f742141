// --raw of create, replace and delete: a file is sent to a path as it is (upstream: kubectl/pkg/rawhttp).
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { hasCode } from "#base/errors.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import { readAll } from "../io.ts";
import type { Session } from "../session.ts";

export const rawFlag = {
  raw: { type: "string", help: "Send a file, or the standard input, to this path of the server as it is." },
} as const satisfies FlagDeclarations;

interface RawRequest {
  readonly raw: string;
  readonly filename: readonly string[];
  readonly recursive: boolean;
  readonly output: string;
  readonly selector?: string;
}

/** Throws KubectlError for flags that make no sense with --raw. */
function check({ raw, filename, recursive, output, selector = "" }: RawRequest, needsFile: boolean): void {
  if (filename.length > 1 || (needsFile && filename.length === 0))
    throw new KubectlError("--raw can only use a single local file or stdin");
  if (/^https?:\/\//.test(filename[0] ?? "")) throw new KubectlError("--raw cannot read from a url");
  if (recursive) throw new KubectlError("--raw and --recursive are mutually exclusive");
  if (selector !== "") throw new KubectlError("--raw and --selector (-l) are mutually exclusive");
  if (output !== "") throw new KubectlError("--raw and --output are mutually exclusive");
  if (!raw.startsWith("/") && !/^[a-z][a-z0-9+.-]*:\/\//i.test(raw))
    throw new KubectlError(`--raw must be a valid URL path: parse ${JSON.stringify(raw)}: invalid URI for request`);
}

/** Prints what the server answers, as it is. */
export async function sendRaw(session: Session, method: "POST" | "PUT" | "DELETE", request: RawRequest): Promise<void> {
  check(request, method !== "DELETE");
  const [file] = request.filename;
  const body =
    file === undefined ? new Uint8Array() : file === "-" ? await readAll(session.io.stdin) : readFile(session, file);
  const answer = await (await session.client()).open({
    method,
    path: request.raw,
    body,
    contentType: "application/json",
  });
  for await (const part of answer.body) session.io.stdout.write(part);
}

function readFile({ io }: Session, file: string): Uint8Array {
  try {
    return readFileSync(resolve(io.cwd, file));
  } catch (cause) {
    if (!hasCode(cause, "ENOENT")) throw cause;
    throw new KubectlError(`open ${file}: no such file or directory`, { cause });
  }
}
