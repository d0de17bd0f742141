// Proxies that say in headers who asks, over real connections: whom the server believes, and whom it does not.
import assert from "node:assert/strict";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import type { KeyPair } from "#cluster/certificates.ts";
import { identifyBy } from "#serving/authentication.ts";
import { GuessLimiter } from "#serving/guess-limiter.ts";
import { certificateAuthenticator } from "#serving/host/certificate-authenticator.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { frontProxyAuthority, requestHeaderAuthenticator } from "#serving/host/request-header-authenticator.ts";
import { passedOn } from "#serving/proxy/headers.ts";
import { requestHeadersOf } from "#serving/request-headers.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";

const dayMs = 24 * 60 * 60 * 1000;
const now = Date.now(); // TLS goes by the machine's own clock
const validity = { notBefore: new Date(now - dayMs), notAfter: new Date(now + dayMs) };
const past = { notBefore: new Date(now - 2 * dayMs), notAfter: new Date(now - dayMs) };
const [servers, users, proxies, strangers] = ["servers", "users", "proxies", "strangers"].map((name) =>
  makeAuthority(validity, name),
) as [KeyPair, KeyPair, KeyPair, KeyPair];
const client = (authority: KeyPair, commonName: string, time = validity) =>
  makeCertificate(authority, { commonName, organizations: ["its-own"] }, time);

const names = {
  username: ["X-Remote-User", "X-Other-User"],
  uid: ["X-Remote-Uid"],
  group: ["X-Remote-Group"],
  extraPrefixes: ["X-Remote-Extra-"],
};

/** Answers who the client is, or the code of the refusal. */
async function open(t: TestContext, clock = new ManualClock(new Date(now).toISOString())): Promise<number> {
  const identify = identifyBy({
    guesses: new GuessLimiter({ clock, log: silentLog }),
    authenticators: [
      requestHeaderAuthenticator({ names, allowedNames: ["aggregator"] }, clock),
      certificateAuthenticator(clock),
    ],
    authenticateToken: async () => ({ user: { name: "by-token", groups: [] }, audiences: [] }),
  });
  const front = httpsFront({
    ...makeCertificate(servers, { commonName: "localhost", hosts: ["127.0.0.1"] }, validity),
    clientCa: users.cert,
    otherClientCas: { [frontProxyAuthority]: proxies.cert },
    log: silentLog,
    handler: async (http) => {
      try {
        return { code: 200, body: JSON.stringify(await identify(http)) };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return { code: error.code, body: "{}" };
      }
    },
  });
  t.after(() => front.close(1000));
  return front.listen(0, "127.0.0.1");
}

const ask = (port: number, pair: KeyPair | undefined, headers: Record<string, string | string[]> = {}) =>
  new Promise<{ readonly code: number; readonly user: User }>((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", ca: servers.cert, agent: false, headers, ...pair }, (answer) => {
      text(answer).then((body) => resolve({ code: answer.statusCode ?? 0, user: JSON.parse(body) }), reject);
    });
    sent.once("error", reject).end();
  });

const asJane = { "X-Remote-User": "jane" };

test("a proxy with a good certificate says who asks, with groups, uid and whatever else is known", async (t) => {
  const port = await open(t);
  const { user } = await ask(port, client(proxies, "aggregator"), {
    "X-Remote-User": "jane",
    "X-Remote-Uid": "42",
    "X-Remote-Group": ["dev, ops", "ops", ""],
    "X-Remote-Extra-Acme.com%2FScopes": ["a", "b"],
    "X-Remote-Extra-100%": "plain",
  });
  assert.deepEqual(user, {
    name: "jane",
    uid: "42",
    groups: ["dev, ops", "ops", "system:authenticated"],
    extra: { "acme.com/scopes": ["a", "b"], "100%": ["plain"] },
  });
  assert.equal((await ask(port, client(proxies, "aggregator"), { "x-other-user": "joe" })).user.name, "joe");
});

test("nobody else is believed, whatever its headers say", async (t) => {
  const port = await open(t);
  const cases: readonly [string, KeyPair | undefined, number][] = [
    ["a certificate of an authority that signs users", client(users, "aggregator"), 200],
    ["a certificate of a strange authority", client(strangers, "aggregator"), 401],
    ["a name that is not allowed", client(proxies, "somebody"), 401],
    ["a certificate that has ended", client(proxies, "aggregator", past), 401],
    ["no certificate", undefined, 200],
  ];
  for (const [what, pair, code] of cases) {
    const { code: answered, user } = await ask(port, pair, { ...asJane, "X-Remote-Group": "system:masters" });
    assert.equal(answered, code, what);
    assert.notEqual(user.name, "jane", what);
    assert.ok(!user.groups?.includes("system:masters"), what);
  }
  const holder = await ask(port, client(users, "aggregator"), asJane);
  assert.deepEqual([holder.user.name, holder.user.groups], ["aggregator", ["its-own", "system:authenticated"]]);
  assert.equal((await ask(port, undefined, asJane)).user.name, "system:anonymous");
});

test("a proxy that names nobody is not taken for a user, and not for a stranger either, but may show a token", async (t) => {
  const port = await open(t);
  const proxy = client(proxies, "aggregator");
  assert.equal((await ask(port, proxy)).code, 401);
  assert.equal((await ask(port, proxy, { "X-Remote-Group": "system:masters" })).code, 401);
  assert.equal((await ask(port, proxy, { authorization: "Bearer x" })).user.name, "by-token");
});

test("a proxy is not believed any more once its certificate has ended, though its connection lives on", async (t) => {
  const clock = new ManualClock(new Date(now).toISOString());
  const port = await open(t, clock);
  assert.equal((await ask(port, client(proxies, "aggregator"), asJane)).code, 200);
  await clock.advance(2 * dayMs);
  assert.equal((await ask(port, client(proxies, "aggregator"), asJane)).code, 401);
});

test("what a client says of who it is goes no further, and what this server says of it can be read again", async (t) => {
  const headers = {
    "x-remote-user": "root",
    "x-remote-group": "system:masters",
    "x-remote-extra-a": "b",
    accept: "*/*",
  };
  const http = { headers, remoteAddress: "" } as unknown as HttpRequest;
  assert.deepEqual(passedOn(http, { upgrades: false }), { accept: "*/*" });
  const user: User = { name: "jane", uid: "7", groups: ["a", "b"], extra: { "acme.com/ü%": ["1", "2"] } };
  const port = await open(t);
  const sent = requestHeadersOf(user) as Record<string, string | string[]>;
  const { user: read } = await ask(port, client(proxies, "aggregator"), sent);
  assert.deepEqual(read, { ...user, groups: ["a", "b", "system:authenticated"] });
});
