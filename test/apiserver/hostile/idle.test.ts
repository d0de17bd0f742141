// Ten thousand connections on which nothing happens: they cost little, keep nobody from being served, and those that never got so far as
// to say who they are go away by themselves.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { ServerProcess } from "../harness.ts";
import { askOn, closed } from "./front.ts";

const CONNECTIONS = 10_000;
/** Those that do the handshake, which takes both ends a millisecond or two. */
const SECURED = 1000;
const AT_ONCE = 200;
/** Per connection, of all kinds. */
const MOST_BYTES = 40 * 1024;

const files = Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 0);
const skip = files < CONNECTIONS + 1000 && `needs ${CONNECTIONS + 1000} open files, the limit is ${files}`;

test(`${CONNECTIONS} idle connections are borne`, { skip }, async (t) => {
  await using server = await ServerProcess.start();
  const ca = readFileSync(server.file("ca.crt"));
  const port = Number(new URL(server.url).port);
  const before = server.residentBytes;
  const sockets: Socket[] = [];
  try {
    const secured = () => connectTls({ port, host: "127.0.0.1", ca, ALPNProtocols: ["h2"] });
    for (let i = 0; i < SECURED; i += AT_ONCE) sockets.push(...(await opened(secured, "secureConnect")));
    const bare: Socket[] = [];
    for (let i = SECURED; i < CONNECTIONS; i += AT_ONCE) {
      const localAddress = `127.0.0.${2 + ((i / AT_ONCE) % 4)}`; // one address alone gets half of all connections
      bare.push(...(await opened(() => connectTcp({ port, host: "127.0.0.1", localAddress }), "connect")));
    }
    sockets.push(...bare);

    const session = connectHttp2(server.url, { ca });
    for (let i = 0; i < 100; i++) assert.equal((await askOn(session, "/version")).code, 200);
    session.destroy();
    const bytes = (server.residentBytes - before) / CONNECTIONS;
    t.diagnostic(`${Math.round(bytes)} bytes for each connection`);
    assert.ok(bytes < MOST_BYTES, `${bytes} bytes for each connection`);

    await Promise.all(bare.map(closed));
    assert.ok(
      sockets.slice(0, SECURED).every(({ destroyed }) => !destroyed),
      "those with a handshake may be idle for longer",
    );
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

async function opened(connect: () => Socket, event: string): Promise<readonly Socket[]> {
  return Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const socket = connect();
      await once(socket, event);
      socket.on("error", () => undefined); // the server may reset what it closes
      return socket.resume();
    }),
  );
}
