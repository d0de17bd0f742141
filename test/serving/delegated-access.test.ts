import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "#apiserver/testing.ts";
import { ManualClock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { Client, type Transport } from "#client/client.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { delegation } from "../../src/serving/delegated-access.ts";

const { signal } = new AbortController();
const ann: User = { name: "ann", groups: ["readers"] };
const nodes = (verb: string) => ({ resourceAttributes: { verb, version: "v1", resource: "nodes", name: "n1" } });
const showing = (authorization: string | undefined) =>
  ({ headers: { authorization }, remoteAddress: "127.0.0.1" }) as Partial<HttpRequest> as HttpRequest;

/** A part that asks a server which knows ann's token, and lets her get; and how often the server was asked. */
async function world(fails: () => boolean = () => false, before: () => Promise<void> = async () => undefined) {
  const server = await testServer({
    users: { hers: ann },
    authorizers: () => [
      ({ user, verb }) => ({ decision: user.name === "tester" || verb === "get" ? "allow" : "none", reason: "so" }),
    ],
  });
  const asked: string[] = [];
  const transport: Transport = async (request) => {
    asked.push(request.resource);
    if (fails()) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "not now" });
    await before();
    return server.server.request(request);
  };
  const user = { name: "tester", groups: [] };
  const client = new Client({ transport, user, userAgent: "test/1", signal });
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const times = { tokenMs: 2000, allowedMs: 3000, deniedMs: 1000 };
  return { asked, clock, server, ...delegation({ client, authenticators: [], clock, log: silentLog, ...times }) };
}

test("a token is asked about once, and again when the answer is old", async () => {
  const { server, asked, clock, identify } = await world();
  await using _ = server;
  const [first, second] = await Promise.all([identify(showing("Bearer hers")), identify(showing("bearer hers"))]);
  assert.deepEqual([first.name, second], ["ann", first]);
  assert.deepEqual(asked, ["tokenreviews"]);
  await clock.advance(1999);
  await identify(showing("Bearer hers"));
  assert.equal(asked.length, 1);
  await clock.advance(1);
  await identify(showing("Bearer hers"));
  assert.equal(asked.length, 2);
});

test("a token that is not good is refused, and that is remembered, too", async () => {
  const { server, asked, identify } = await world();
  await using _ = server;
  const refused = { code: 401 };
  await assert.rejects(async () => identify(showing("Bearer nobody's")), refused);
  await assert.rejects(async () => identify(showing("Bearer nobody's")), refused);
  assert.deepEqual(asked, ["tokenreviews"]);
  await assert.rejects(async () => identify(showing("Basic YTpi")), refused);
  assert.equal((await identify(showing(undefined))).name, "system:anonymous");
  assert.equal(asked.length, 1);
});

test("leave is believed for its time, refusals for theirs", async () => {
  const { server, asked, clock, authorize } = await world();
  await using _ = server;
  assert.equal((await authorize(ann, nodes("get"))).decision, "allow");
  assert.deepEqual(await authorize(ann, nodes("delete")), { decision: "none", reason: "so" });
  await clock.advance(1500);
  await authorize(ann, nodes("get"));
  assert.equal(asked.length, 2);
  await authorize(ann, nodes("delete"));
  assert.equal(asked.length, 3);
  await authorize({ ...ann, groups: [] }, nodes("get"));
  assert.equal(asked.length, 4, "other groups are another question");
  await clock.advance(1500);
  await authorize(ann, nodes("get"));
  assert.equal(asked.length, 5);
});

test("no answer is not remembered, nor is what is too long to keep", async () => {
  let isDown = true;
  const { server, asked, authorize } = await world(() => isDown);
  await using _ = server;
  await assert.rejects(authorize(ann, nodes("get")), { code: 503 });
  isDown = false;
  assert.equal((await authorize(ann, nodes("get"))).decision, "allow");
  const long = { name: "a".repeat(10_000), groups: [] };
  await authorize(long, nodes("get"));
  await authorize(long, nodes("get"));
  assert.equal(asked.length, 4);
});

test("a server that says nothing is not waited for without end, nor asked only once", async () => {
  let isDeaf = true;
  const wait = () => (isDeaf ? new Promise<void>(() => undefined) : Promise.resolve());
  const { server, clock, authorize } = await world(undefined, wait);
  await using _ = server;
  const asked = authorize(ann, nodes("get"));
  const refused = assert.rejects(asked, /does not answer within 10000 ms/);
  await clock.advance(10_000);
  await refused;
  isDeaf = false;
  assert.equal((await authorize(ann, nodes("get"))).decision, "allow");
});
