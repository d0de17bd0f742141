import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { test } from "node:test";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { int, message, text } from "#base/host/protobuf.ts";
import { probeHandlers } from "./probe-handlers.ts";

const { signal } = new AbortController();
const { http, tcp, grpc } = probeHandlers();

async function serving(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

test("an HTTP probe succeeds from 200 to 399, on the same host", async () => {
  await using server = await serving(({ url = "", headers }, response) => {
    const [, code = "200", to] = url.split("/");
    const location = to === undefined ? {} : { location: decodeURIComponent(to) };
    response.writeHead(Number(code), location).end(headers["x-say"] ?? "body");
  });
  const ask = (path: string, headers = {}) => http({ url: `${server.url}${path}`, headers }, signal);
  assert.deepEqual(await ask("/200"), { result: "success", output: "body" });
  assert.deepEqual(await ask("/200", { "x-say": "hi" }), { result: "success", output: "hi" });
  assert.deepEqual(await ask("/304"), { result: "success", output: "" });
  assert.deepEqual(await ask("/404"), { result: "failure", output: "HTTP probe failed with statuscode: 404" });
  assert.deepEqual(await ask("/302/%2F500"), { result: "failure", output: "HTTP probe failed with statuscode: 500" });
  assert.equal((await ask("/302/%2F200")).result, "success");
  assert.equal((await ask(`/302/${encodeURIComponent("http://elsewhere.example/")}`)).result, "warning");
});

test("an HTTP probe that leads round and round, talks on for ever or answers nothing ends", async () => {
  await using server = await serving(({ url }, response) => {
    if (url === "/round") response.writeHead(302, { location: "/round" }).end();
    else if (url === "/long") {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(1000)));
      };
      response.on("drain", more);
      more();
    }
  });
  assert.match((await http({ url: `${server.url}/round`, headers: {} }, signal)).output, /stopped after 10 redirects/);
  const long = await http({ url: `${server.url}/long`, headers: {} }, signal);
  assert.deepEqual([long.result, long.output.length], ["success", 10 * 1024]);
  const stop = new AbortController();
  const silent = http({ url: `${server.url}/silent`, headers: {} }, stop.signal);
  stop.abort(new Error("too late"));
  await assert.rejects(silent, { message: "too late" });
});

test("a TCP probe succeeds where someone listens", async () => {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  assert.equal((await tcp("127.0.0.1", port, signal)).result, "success");
  server.close();
  await once(server, "close");
  const refused = await tcp("127.0.0.1", port, signal);
  assert.equal(refused.result, "failure");
  const words = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
  assert.equal(refused.output, words);
  const url = `http://127.0.0.1:${port}/`;
  assert.equal((await http({ url, headers: {} }, signal)).output, `Get "${url}": ${words}`);
});

test("an HTTP probe of what hangs up says so", async () => {
  await using server = await serving(({ socket }) => void socket.destroy());
  assert.equal((await http({ url: `${server.url}/`, headers: {} }, signal)).output, `Get "${server.url}/": EOF`);
});

test("a gRPC probe asks the health service", async () => {
  const Request = message("HealthCheckRequest", { service: text(1) });
  const Response = message("HealthCheckResponse", { status: int(1) });
  const server = new Server();
  const check = {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: Buffer) => value,
    requestDeserialize: (bytes: Buffer) => Request.decode(bytes),
    responseSerialize: (status: number) => Buffer.from(Response.encode({ status })),
    responseDeserialize: (bytes: Buffer) => bytes,
  };
  server.addService(
    { check },
    {
      check: ({ request }: { request: { service: string } }, done: (error: null, status: number) => void) =>
        done(null, request.service === "bad" ? 2 : 1),
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  assert.equal((await grpc("127.0.0.1", port, "", signal)).result, "success");
  const bad = await grpc("127.0.0.1", port, "bad", signal);
  assert.deepEqual(bad, { result: "failure", output: 'service unhealthy (responded with "NOT_SERVING")' });
  server.forceShutdown();
  await using plain = await serving((_, response) => void response.end());
  assert.equal((await grpc("127.0.0.1", plain.port, "", signal)).result, "failure");
});

test("what is on the loopback of the node is reached from there, and nothing else is", async () => {
  await using server = await serving((_, response) => response.end("fine"));
  const dialed: string[] = [];
  const inside = probeHandlers(async ({ host, port }) => {
    dialed.push(`${host}:${port}`);
    if (port === 1) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const socket = connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  });
  const answer = await inside.http({ url: "http://localhost:10259/livez", headers: {} }, signal);
  assert.deepEqual(answer, { result: "success", output: "fine" });
  assert.equal((await inside.tcp("127.0.0.1", 10259, signal)).result, "success");
  assert.deepEqual(await inside.http({ url: "https://127.0.0.1:1/livez", headers: {} }, signal), {
    result: "failure",
    output: 'Get "https://127.0.0.1:1/livez": dial tcp 127.0.0.1:1: connect: connection refused',
  });
  assert.deepEqual(dialed, ["127.0.0.1:10259", "127.0.0.1:10259", "127.0.0.1:1"]);
});
