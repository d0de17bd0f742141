// `kubectl proxy`: what it passes on, what it refuses, and the files beside it.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Running, run } from "./running.ts";

/** Answers with what it was asked, and upgrades to an echo. */
async function backend(): Promise<Server & AsyncDisposable> {
  const server = createServer((asked, answer) => {
    let body = "";
    asked.on("data", (part: Buffer) => (body += part.toString()));
    asked.on("end", () => {
      answer.writeHead(asked.url === "/missing" ? 404 : 200, {
        "content-type": "application/json",
        "x-from": "backend",
      });
      answer.end(JSON.stringify({ method: asked.method, url: asked.url, body, headers: asked.headers }));
    });
  });
  server.on("upgrade", (_asked, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: Upgrade\r\n\r\n");
    socket.pipe(socket);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return Object.assign(server, {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  });
}

interface Asked {
  readonly code: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Without a URL parser in between, which would clean the path. */
const ask = (
  at: { readonly port?: number; readonly socketPath?: string },
  path: string,
  { method = "GET", host = "localhost", body = "", headers = {} } = {},
): Promise<Asked> =>
  new Promise((done, fail) => {
    const sent = request({ host: "127.0.0.1", ...at, path, method, headers: { host, ...headers } }, async (answer) => {
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part as Buffer);
      done({ code: answer.statusCode ?? 0, body: Buffer.concat(parts).toString(), headers: answer.headers });
    });
    sent.once("error", fail);
    sent.end(body);
  });

const portIn = async (running: Running): Promise<number> =>
  Number((await running.until(/Starting to serve on 127\.0\.0\.1:(\d+)/))[1]);

test("requests are passed on with our credentials, unless they bring their own", async () => {
  await using server = await backend();
  const { port } = server.address() as AddressInfo;
  await using running = new Running(["proxy", "--port=0", "-s", `http://127.0.0.1:${port}/base`, "--token=ours"]);
  const at = { port: await portIn(running) };
  assert.match(running.stderr, /^W.* Your kube context contains a server path \/base, use --append-server-path/);
  const answer = await ask(at, "/api/v1/pods?limit=1", { method: "POST", body: "sent" });
  assert.equal(answer.headers["x-from"], "backend");
  const { method, url, body, headers } = JSON.parse(answer.body);
  assert.deepEqual([method, url, body, headers.authorization], ["POST", "/api/v1/pods?limit=1", "sent", "Bearer ours"]);
  assert.equal(headers.host, `127.0.0.1:${port}`);
  const own = await ask(at, "/", { headers: { authorization: "Bearer theirs" } });
  assert.equal(JSON.parse(own.body).headers.authorization, "Bearer theirs");
  assert.equal((await ask(at, "/missing")).code, 404);
});

test("hosts, paths and methods are filtered, also where the path is written in another way", async () => {
  await using server = await backend();
  const flags = ["-s", `http://127.0.0.1:${(server.address() as AddressInfo).port}`, "--reject-methods=^DELETE$"];
  await using running = new Running(["proxy", "--port=0", ...flags]);
  const at = { port: await portIn(running) };
  const code = async (path: string, options?: Parameters<typeof ask>[2]) => (await ask(at, path, options)).code;
  assert.equal(await code("/api", { host: "evil.example" }), 403);
  assert.equal(await code("/api", { host: `localhost:${at.port}` }), 200);
  assert.equal(await code("/api", { host: `[::1]:${at.port}` }), 403, "as upstream, whose pattern has brackets");
  assert.equal(await code("/api", { method: "DELETE" }), 403);
  assert.equal(await code("/api/v1/namespaces/d/pods/p/exec"), 403);
  assert.equal(await code("/api/v1/namespaces/d/pods/p%2Fexec"), 403);
  assert.equal(await code("/api/v1/namespaces/d/pods/p/%65xec"), 403);
  assert.equal(await code("/api/v1/namespaces/d/pods/p/./exec"), 307);
  assert.equal(await code("/%"), 400);
  assert.equal(await code("/api/v1/namespaces/d/pods/p/log"), 200);
});

test("the API can begin elsewhere, and the server's path be kept", async () => {
  await using server = await backend();
  const { port } = server.address() as AddressInfo;
  const flags = ["-s", `http://127.0.0.1:${port}/base`, "--append-server-path", "--api-prefix=/custom"];
  await using running = new Running(["proxy", "--port=0", ...flags]);
  const at = { port: await portIn(running) };
  assert.equal(JSON.parse((await ask(at, "/custom/api/v1/pods")).body).url, "/base/api/v1/pods");
  assert.equal((await ask(at, "/api/v1/pods")).code, 404);
});

test("files of a folder are served beside it, and nothing outside of the folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-www-"));
  try {
    mkdirSync(join(folder, "www/deeper"), { recursive: true });
    writeFileSync(join(folder, "secret"), "secret");
    writeFileSync(join(folder, "www/a.html"), "<p>a");
    writeFileSync(join(folder, "www/deeper/index.html"), "index");
    symlinkSync("../secret", join(folder, "www/link"));
    await using running = new Running(["proxy", "--port=0", "--www=www", "-s", "http://127.0.0.1:1"], { cwd: folder });
    const at = { port: await portIn(running) };
    const page = await ask(at, "/static/a.html");
    assert.deepEqual([page.body, page.headers["content-type"]], ["<p>a", "text/html; charset=utf-8"]);
    assert.equal((await ask(at, "/static/deeper/")).body, "index");
    assert.match((await ask(at, "/static/")).body, /<a href="deeper\/">deeper\/<\/a>/);
    for (const path of ["/static/../secret", "/static/%2e%2e/secret", "/static/link"])
      assert.notEqual((await ask(at, path)).body, "secret", path);
    assert.equal((await ask(at, "/static/none")).code, 404);
    assert.equal((await ask(at, "/api")).code, 500, "there is no server");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a socket of the file system is for its owner alone, and connections can be upgraded over it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-sock-"));
  try {
    await using server = await backend();
    const flags = ["-s", `http://127.0.0.1:${(server.address() as AddressInfo).port}`, "--unix-socket=s"];
    await using running = new Running(["proxy", ...flags], { cwd: folder });
    await running.until(/Starting to serve on s\n/);
    const socketPath = join(folder, "s");
    assert.equal(statSync(socketPath).mode & 0o777, 0o700);
    assert.equal((await ask({ socketPath }, "/api")).code, 200);
    const echoed = await new Promise<string>((done, fail) => {
      const sent = request({
        socketPath,
        path: "/x",
        headers: { host: "localhost", connection: "Upgrade", upgrade: "echo" },
      });
      sent.once("upgrade", (_answer, socket) => {
        socket.write("hello");
        socket.once("data", (part: Buffer) => {
          done(part.toString());
          socket.destroy();
        });
      });
      sent.once("error", fail);
      sent.end();
    });
    assert.equal(echoed, "hello");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what cannot be is told, and a proxy ends when it is interrupted", async () => {
  const twice = await run(["proxy", "--port=1234", "--unix-socket=s", "-s", "http://127.0.0.1:1"]);
  assert.deepEqual([twice.code, twice.stderr], [1, "error: cannot set --unix-socket and --port at the same time\n"]);
  const wrong = await run(["proxy", "--accept-paths=(", "-s", "http://127.0.0.1:1"]);
  assert.equal(wrong.code, 255);
  assert.match(wrong.stderr, /^F.* Error compiling re: /);
  const running = new Running(["proxy", "--port=0", "-s", "http://127.0.0.1:1"]);
  const port = await portIn(running);
  const taken = await run(["proxy", `--port=${port}`, "-s", "http://127.0.0.1:1"]);
  assert.equal(taken.stderr, `error: listen tcp 127.0.0.1:${port}: bind: address already in use\n`);
  running.interrupt();
  assert.equal(await running.code, 130);
});
