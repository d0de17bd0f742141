import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { tellUnknownMethods } from "./unknown-methods.ts";

async function answerTo(text: string): Promise<string> {
  const server = createServer((_request, response) => response.end("served"));
  tellUnknownMethods(server, { code: 405, headers: { "content-type": "text/plain" }, body: "no such method" });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write(text);
    let answer = "";
    for await (const part of socket.setEncoding("utf8")) answer += part;
    return answer;
  } finally {
    server.close();
  }
}

test("a method that Node's parser does not know is answered, and the connection ends", async () => {
  assert.equal(
    await answerTo("FOO / HTTP/1.1\r\nhost: x\r\n\r\n"),
    "HTTP/1.1 405 Method Not Allowed\r\ncontent-type: text/plain\r\ncontent-length: 14\r\nconnection: close\r\n\r\nno such method",
  );
});

test("what is no HTTP at all is answered as ever", async () => {
  assert.match(await answerTo("GET / HTTP/1.1\r\nhost x\r\n\r\n"), /^HTTP\/1\.1 400 Bad Request\r\nConnection: close/);
});

test("a method that is known is served", async () => {
  assert.match(await answerTo("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"), /served$/);
});

test("a connection whose handshake does not come in time is closed", async () => {
  const server = createSecureServer({ allowHTTP1: true, handshakeTimeout: 20 });
  tellUnknownMethods(server, { code: 405, headers: {}, body: "" });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => undefined); // it may be reset
    await once(socket.resume(), "close");
  } finally {
    server.close();
  }
});
