// Files of a folder over HTTP, as Go's file server shows them.
import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { extname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".gif": "image/gif",
  ".htm": "text/html; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".xml": "text/xml; charset=utf-8",
};

/** `path` is decoded and begins with a slash. */
export async function serveFile(folder: string, path: string, answer: ServerResponse): Promise<void> {
  const file = join(folder, path);
  try {
    // A link may lead elsewhere; what the folder does not hold is not served.
    const way = relative(await realpath(folder), await realpath(file));
    if (way === ".." || way.startsWith("../")) return refuse(answer, 403, "403 Forbidden");
    const found = await stat(file);
    if (found.isDirectory() && !path.endsWith("/"))
      return redirect(answer, `${path.slice(path.lastIndexOf("/") + 1)}/`);
    if (found.isDirectory()) return await serveFolder(folder, path, answer);
    answer.writeHead(200, {
      "content-type": types[extname(file).toLowerCase()] ?? "application/octet-stream",
      "content-length": found.size,
      "last-modified": found.mtime.toUTCString(),
    });
    await pipeline(createReadStream(file), answer);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (answer.headersSent) answer.destroy();
    else if (code === "EACCES") refuse(answer, 403, "403 Forbidden");
    else refuse(answer, 404, "404 page not found");
  }
}

async function serveFolder(folder: string, path: string, answer: ServerResponse): Promise<void> {
  const entries = await readdir(join(folder, path), { withFileTypes: true });
  if (entries.some((entry) => entry.name === "index.html")) return serveFile(folder, `${path}index.html`, answer);
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted();
  const lines = names.map((name) => `<a href="${encodeURI(name)}">${escaped(name)}</a>\n`);
  answer.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  answer.end(`<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join("")}</pre>\n`);
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

function redirect(answer: ServerResponse, to: string): void {
  answer.writeHead(301, { location: to });
  answer.end();
}

export function refuse(answer: ServerResponse, code: number, text: string): void {
  answer.writeHead(code, { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
  answer.end(`${text}\n`);
}
