import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { networkNamespace } from "./network-namespace.ts";
import { thisMachine } from "./node-location.ts";
import { serveHealth } from "./serve-health.ts";

const { signal } = new AbortController();

test("on this machine, programs run, sockets listen and connections lead as they are asked to", async () => {
  assert.deepEqual(thisMachine.command(["ip", "link"]), ["ip", "link"]);
  assert.equal(await thisMachine.run(["cat"], { input: "said" }), "said");
  assert.ok(thisMachine.holds(process.pid));

  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const bound = probe.address();
  const port = typeof bound === "object" && bound ? bound.port : assert.fail("no port");
  const at = { host: "127.0.0.1", port };
  const answer = () => ({ code: 200, headers: {}, body: "well" });
  await assert.rejects(serveHealth(thisMachine, at, answer, signal), /EADDRINUSE/);
  await new Promise((resolve) => probe.close(resolve));

  const served = await serveHealth(thisMachine, at, answer, signal);
  const socket = await thisMachine.dial(at, signal);
  socket.end("GET / HTTP/1.0\r\n\r\n");
  let heard = "";
  for await (const part of socket) heard += part;
  assert.match(heard, /^HTTP\/1.1 200 .*well$/s);
  await served.close();
  await assert.rejects(thisMachine.dial(at, signal), /ECONNREFUSED/);
  await assert.rejects(thisMachine.dial(at, AbortSignal.abort(new Error("enough"))), /enough/);
});

test("programs of a node in a network namespace are run by entering it, and nothing runs in one that is not there", async () => {
  const node = networkNamespace("knarr-none");
  assert.deepEqual(node.command(["ip", "link"]), ["nsenter", "--net=/run/netns/knarr-none", "ip", "link"]);
  await assert.rejects(node.run(["true"]));
  assert.ok(!node.holds(process.pid));
});
