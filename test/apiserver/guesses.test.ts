// Somebody guesses the secret of a token by which nodes join, over real connections, while others go on.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { httpsFront } from "#serving/host/https/front.ts";

const guesses = 100_000;
/** On one connection, of which there are two. */
const atOnce = 100;
const secret = "0123456789abcdef";

async function world(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "guesses-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1", "localhost"] });
  const server = await testServer({ bootstrapTokens: true });
  t.after(() => server[Symbol.asyncDispose]());
  const made = await server.call("POST", "/api/v1/namespaces/kube-system/secrets", {
    metadata: { name: "bootstrap-token-abcdef" },
    type: "bootstrap.kubernetes.io/token",
    stringData: { "token-id": "abcdef", "token-secret": secret, "usage-bootstrap-authentication": "true" },
  });
  assert.equal(made.code, 201, made.text);
  const front = httpsFront({ ...serving, clientCa: undefined, handler: server.server.handle, log: silentLog });
  const port = await front.listen(0, "127.0.0.1");
  t.after(() => front.close(100));
  const from = (localAddress: string): ClientHttp2Session => {
    const createConnection = () =>
      connectTls({ socket: connectTcp({ host: "127.0.0.1", port, localAddress }), ca, ALPNProtocols: ["h2"] });
    const session = connect(`https://127.0.0.1:${port}`, { createConnection });
    t.after(() => session.destroy());
    return session;
  };
  return { server, from };
}

const show = (session: ClientHttp2Session, token: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/version", authorization: `Bearer ${token}` });
    let code = 0;
    stream.on("response", (head) => {
      code = Number(head[":status"]);
    });
    stream.once("end", () => resolve(code));
    stream.once("error", reject);
    stream.resume();
  });

test("of 100,000 guesses of a token's secret only a hundred are checked, and clients elsewhere notice nothing", async (t) => {
  const { server, from } = await world(t);
  const [guesser, second, friend] = [from("127.0.0.2"), from("127.0.0.2"), from("127.0.0.3")];
  const answers = new Map<number, number>();
  let next = 0;
  const guess = async (session: ClientHttp2Session): Promise<void> => {
    while (next < guesses) {
      const code = await show(session, `abcdef.${String(next++).padStart(16, "x")}`);
      answers.set(code, (answers.get(code) ?? 0) + 1);
    }
  };
  const guessing = Promise.all(Array.from({ length: 2 * atOnce }, (_, i) => guess(i % 2 === 0 ? guesser : second)));
  let good = 0;
  while (next < guesses) {
    assert.equal(await show(friend, `abcdef.${secret}`), 200);
    good++;
  }
  await guessing;

  assert.deepEqual(Object.fromEntries(answers), { 401: 100, 429: guesses - 100 });
  assert.ok(good > 100, `the other client was served ${good} times meanwhile`);
  const metrics = await server.call("GET", "/metrics");
  assert.match(metrics.text, /knarr_refused_credentials_total\{checked="true"\} 100\n/);

  // The token is known to be good by now, another one has to wait for its turn.
  assert.equal(await show(guesser, `abcdef.${secret}`), 200);
  await server.call("POST", "/api/v1/namespaces/kube-system/secrets", {
    metadata: { name: "bootstrap-token-second" },
    type: "bootstrap.kubernetes.io/token",
    stringData: { "token-id": "second", "token-secret": secret, "usage-bootstrap-authentication": "true" },
  });
  assert.equal(await show(guesser, `second.${secret}`), 429);
  await server.clock.advance(1000);
  assert.equal(await show(guesser, `second.${secret}`), 200);
});
