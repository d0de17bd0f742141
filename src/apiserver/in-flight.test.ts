import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import type { User } from "#wire/api-request.ts";
import { InFlightRequests } from "./in-flight.ts";
import { testServer } from "./testing.ts";

const known = "system:authenticated";
const users: Readonly<Record<string, User>> = {
  ann: { name: "ann", groups: [known] },
  bob: { name: "bob", groups: [known] },
  cid: { name: "cid", groups: [known] },
  admin: { name: "admin", groups: ["system:masters", known] },
};
const as = (name: string) => ({ authorization: `Bearer ${name}` });
const pods = "/api/v1/namespaces/default/pods";

/** A server that serves four reads and two writes at a time, whose requests wait at the authorizer until they are let go. */
async function busyServer() {
  const gate = Promise.withResolvers<void>();
  const s = await testServer({
    users,
    isFair: false,
    inFlight: { reads: 4, writes: 2, lasting: 2 },
    authorizers: () => [
      async ({ user }) => {
        if (user.name !== "admin") await gate.promise;
        return { decision: "allow" };
      },
    ],
  });
  return { s, open: gate.resolve };
}

test("requests beyond the limits are told to come back, as upstream tells them", async () => {
  const { s, open } = await busyServer();
  await using _ = s;
  const under = ["ann", "ann", "bob", "bob"].map((name) => s.call("GET", pods, undefined, as(name)));
  await turn();
  const { code, headers = {}, text } = await s.call("GET", pods, undefined, as("cid"));
  assert.deepEqual([code, text], [429, "Too many requests, please try again later.\n"]);
  assert.deepEqual([headers["retry-after"], headers["content-type"]], ["1", "text/plain; charset=utf-8"]);
  assert.equal((await s.call("GET", pods, undefined, as("admin"))).code, 200, "who may do everything is always served");
  const write = s.call("POST", pods, {}, as("cid"));
  const probe = s.call("GET", "/livez", undefined, as("cid"));
  await turn();
  open();
  assert.equal((await probe).code, 200, "probes are not counted");
  assert.deepEqual(
    (await Promise.all(under)).map((answer) => answer.code),
    [200, 200, 200, 200],
  );
  assert.notEqual((await write).code, 429, "writes have a limit of their own");
  assert.equal((await s.call("GET", pods, undefined, as("cid"))).code, 200);
});

test("one user gets no more than half, so that others are served", async () => {
  const { s, open } = await busyServer();
  await using _ = s;
  const under = ["ann", "ann", "ann", "ann", "bob"].map((name) => s.call("GET", pods, undefined, as(name)));
  await turn();
  open();
  assert.deepEqual(
    (await Promise.all(under)).map(({ code }) => code),
    [200, 200, 429, 429, 200],
  );
});

test("watches are not counted among the reads, but each user has so many only, until they end", async () => {
  await using s = await testServer({
    isFair: false,
    inFlight: { reads: 2, writes: 1, lasting: 2 },
    authenticators: [() => users.ann],
  });
  const inFlight = new InFlightRequests({ reads: 1, writes: 1, lasting: 2 });
  const ann = users.ann as User;
  const ends = [inFlight.enter(ann, "lasting"), inFlight.enter(ann, "lasting")];
  assert.equal(inFlight.enter(ann, "lasting"), undefined);
  assert.notEqual(inFlight.enter(users.bob as User, "lasting"), undefined);
  ends[0]?.();
  ends[0]?.();
  assert.notEqual(inFlight.enter(ann, "lasting"), undefined);
  assert.equal(inFlight.enter(ann, "lasting"), undefined, "what is told twice counts once");
  for (let i = 0; i < 5; i++) {
    const stop = new AbortController();
    const events = await s.watch(`${pods}?watch=1`, stop.signal);
    assert.equal((await s.call("GET", pods)).code, 200);
    stop.abort(new Error("enough"));
    await events.return?.();
  }
});

test("a limit of 0 is none", () => {
  const inFlight = new InFlightRequests({ reads: 0, writes: 0, lasting: 0 });
  for (let i = 0; i < 1000; i++)
    for (const lane of ["reads", "writes", "lasting"] as const)
      assert.notEqual(inFlight.enter(users.ann as User, lane), undefined);
});
