// A server that is told to stop: what is under way is answered to its end, and what has no end comes to one.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { connect } from "node:http2";
import { request } from "node:https";
import { test } from "node:test";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { ServerProcess } from "./harness.ts";

const watch = "/api/v1/namespaces?watch=1";

const credentialsOf = (server: ServerProcess) => ({
  ca: readFileSync(server.file("ca.crt")),
  cert: readFileSync(server.file("admin.crt")),
  key: readFileSync(server.file("admin.key")),
});

async function ask(server: ServerProcess, path: string): Promise<IncomingMessage> {
  const asked = request(`${server.url}${path}`, credentialsOf(server));
  asked.end();
  const [answer] = await once(asked, "response");
  return answer;
}

test("watches end as whole answers when the server is told to stop", async () => {
  await using server = await ServerProcess.start();
  const old = await ask(server, watch);
  const session = connect(server.url, credentialsOf(server));
  const stream = session.request({ ":path": watch });
  await Promise.all([once(old, "data"), once(stream, "data")]);

  const ended = [once(old, "end"), once(stream, "close"), once(session, "close")];
  for (const one of [old, stream]) one.resume();
  const stopped = server.kill("SIGTERM");
  await Promise.all(ended);
  assert.ok(old.complete, "the last chunk is there");
  assert.equal(stream.rstCode, 0);
  assert.equal(await stopped, 0);
});

test("a request under way is answered before the server ends", async () => {
  await using server = await ServerProcess.start();
  const creating = request(`${server.url}/api/v1/namespaces`, {
    ...credentialsOf(server),
    method: "POST",
    headers: { "content-type": "application/json", expect: "100-continue" },
  });
  creating.flushHeaders();
  await once(creating, "continue"); // the server has it now
  creating.write('{"metadata":');
  const watched = await ask(server, watch);
  const isStopping = once(watched.resume(), "end");
  const stopped = server.kill("SIGTERM");
  await isStopping;
  creating.end('{"name":"last"}}');
  const [answer] = await once(creating, "response");
  answer.resume();
  assert.deepEqual([answer.statusCode, answer.headers.connection], [201, "close"]);
  assert.equal(await stopped, 0);
});

test("a server that is to stop later is not ready, and serves until then", async () => {
  await using server = await ServerProcess.start({ flags: ["--shutdown-delay-duration=1h"] });
  const ready = await ask(server, "/readyz");
  assert.equal(ready.resume().statusCode, 200);
  void server.kill("SIGTERM");
  while ((await ask(server, "/readyz")).resume().statusCode === 200);
  assert.equal((await ask(server, "/livez")).resume().statusCode, 200);
  assert.equal((await ask(server, "/api/v1/namespaces")).resume().statusCode, 200);
});

test("a server whose etcd is gone ends when it is told to", { skip: noEtcd }, async () => {
  const etcd = await startEtcd();
  let isStopped = false;
  try {
    await using server = await ServerProcess.start({ flags: [`--etcd-servers=${etcd.endpoints.join(",")}`] });
    await etcd.stop();
    isStopped = true;
    assert.equal(typeof (await server.kill("SIGTERM")), "number", "it ended by itself");
  } finally {
    if (!isStopped) await etcd.stop();
  }
});
