import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import { byteStreamPair } from "#wire/streams/byte-stream.ts";
import { SpdyConnection, type SpdyStream } from "#wire/streams/spdy.ts";
import type { CriRuntime } from "./runtime.ts";
import { criStreams } from "./streams.ts";

/** A runtime's streaming server that hands each pair of streams of a port-forward to `serve`. */
async function streamingServer(serve: (data: SpdyStream, errors: SpdyStream) => Promise<void>) {
  const server = createServer();
  const failures: unknown[] = [];
  server.on("upgrade", (_request, socket, head) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
    const streams = new Map<string, SpdyStream>();
    const accept = (stream: SpdyStream) => {
      streams.set(stream.headers.streamtype ?? "", stream);
      const [data, errors] = [streams.get("data"), streams.get("error")];
      if (data && errors) serve(data, errors).catch((error: unknown) => failures.push(error));
    };
    const connection = socketStream(socket, head);
    // The client drops the connection when it is done.
    new SpdyConnection({ connection, role: "server", compression: spdyCompression(), accept })
      .run()
      .catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const runtime = { streamTo: async () => `http://127.0.0.1:${port}/portforward/token` } as unknown as CriRuntime;
  return {
    failures,
    streams: criStreams(runtime, systemClock),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

const { signal } = new AbortController();

test("a refused port is reported before the data ends, in whichever order the runtime sends the two", async () => {
  let hasEnded = false;
  let hadEndedAtRefusal: boolean | undefined;
  await using runtime = await streamingServer(async (data, errors) => {
    await data.end();
    // Gives an end that is passed on too early the time to arrive.
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
    hadEndedAtRefusal = hasEnded;
    await errors.write(new TextEncoder().encode("error forwarding port 1 to pod x, uid : connection refused"));
    await errors.end();
  });
  const [client, pod] = byteStreamPair();
  const reading = (async () => {
    for await (const _ of client.input);
    hasEnded = true;
  })();
  await assert.rejects(runtime.streams.portForward("x", 1, pod, signal), { message: "connection refused" });
  assert.equal(hadEndedAtRefusal, false);
  assert.equal(hasEnded, false, "whoever forwards decides how the refused connection ends");
  pod.destroy();
  await assert.rejects(reading);
  assert.deepEqual(runtime.failures, []);
});

test("what the pod sends arrives whole, and then the end", async () => {
  await using runtime = await streamingServer(async (data, errors) => {
    await data.write(new TextEncoder().encode("all of it"));
    await data.end();
    await errors.end();
  });
  const [client, pod] = byteStreamPair();
  const received = (async () => {
    let text = "";
    for await (const part of client.input) text += new TextDecoder().decode(part);
    return text;
  })();
  await runtime.streams.portForward("x", 80, pod, signal);
  assert.equal(await received, "all of it");
  assert.deepEqual(runtime.failures, []);
});
