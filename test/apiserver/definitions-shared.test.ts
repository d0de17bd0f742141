// Two servers share a store: what is defined at one is served by the other, and goes from both.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { type TestAnswer, type TestServer, testServer } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import type { ApiObject } from "#schema/object.ts";
import type { StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { MemoryStore } from "#store/memory.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const definitionName = "crates.cargo.example";
const all = "/apis/cargo.example/v1/crates";
const crates = "/apis/cargo.example/v1/namespaces/x/crates";
const crate = (name: string, spec: object = {}) => ({
  apiVersion: "cargo.example/v1",
  kind: "Crate",
  metadata: { name },
  spec,
});

const definition = (size: object) => {
  const properties = { spec: { type: "object", properties: { size: { type: "integer", ...size } } } };
  return {
    apiVersion: CustomResourceDefinition.apiVersion,
    kind: CustomResourceDefinition.kind,
    metadata: { name: definitionName },
    spec: {
      group: "cargo.example",
      scope: "Namespaced",
      names: { plural: "crates", kind: "Crate" },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } },
      ],
    },
  };
};

/** Resolves when a server has come to what is wanted; it is asked again whenever what it serves has changed. */
async function served({ server: { apis } }: TestServer, isWanted: () => Promise<boolean> | boolean): Promise<void> {
  for (;;) {
    const changed = Promise.withResolvers<void>();
    const stop = apis.subscribe(() => changed.resolve());
    try {
      if (await isWanted()) return;
      await changed.promise;
    } finally {
      stop();
    }
  }
}

const isServing = ({ server: { apis } }: TestServer) => apis.kinds.some(({ plural }) => plural === "crates");

interface Event {
  readonly type: string;
  readonly object: ApiObject;
}

/** Reads a watch up to the event that is wanted. */
async function heard(watch: AsyncIterator<ApiObject>, isWanted: (event: Event) => boolean): Promise<void> {
  for (;;) {
    const { done, value } = await watch.next();
    assert.ok(!done, "the watch ended before");
    if (isWanted(value as object as Event)) return;
  }
}

const drained = async (watch: AsyncIterator<ApiObject>): Promise<void> => {
  while (!(await watch.next()).done);
};

const isEstablished = ({ object }: Event): boolean =>
  (object as object as CustomResourceDefinition).status.conditions?.some(
    ({ type, status }) => type === "Established" && status === "True",
  ) ?? false;

const namesOf = ({ json }: TestAnswer) => (json.items as readonly ApiObject[]).map(({ metadata }) => metadata.name);

/** Lets the time of both servers pass meanwhile: the one that wrote second tries again a little later. */
async function whileTimePasses(servers: readonly TestServer[], work: Promise<void>): Promise<void> {
  let isOver = false;
  const passing = (async () => {
    for (; !isOver; await turn()) for (const { clock } of servers) await clock.advance(5);
  })();
  try {
    await work;
  } finally {
    isOver = true;
    await passing;
  }
}

async function exercise(one: TestServer, other: TestServer): Promise<void> {
  const told = await other.watch(`${definitions}?watch=1`);
  const made = await one.call("POST", definitions, definition({ minimum: 1, default: 7 }));
  assert.equal(made.code, 201, made.text);
  await heard(told, isEstablished);
  await Promise.all([one, other].map((server) => served(server, () => isServing(server))));

  const watch = await other.watch(`${all}?watch=1`);
  const first = await one.call("POST", crates, crate("first"));
  assert.deepEqual([first.code, first.json.spec], [201, { size: 7 }], first.text);
  await heard(watch, ({ type, object }) => type === "ADDED" && object.metadata.name === "first");
  const second = await other.call("POST", crates, crate("second", { size: 2 }));
  assert.equal(second.code, 201, second.text);
  for (const server of [one, other]) assert.deepEqual(namesOf(await server.call("GET", all)), ["first", "second"]);

  // Another schema is in force at both: its watches end where the old one was served.
  const ended = drained(watch);
  const replaced = await one.call(
    "PATCH",
    `${definitions}/${definitionName}`,
    { spec: definition({ maximum: 3 }).spec },
    { "content-type": "application/merge-patch+json" },
  );
  assert.equal(replaced.code, 200, replaced.text);
  await ended;
  await served(other, async () => {
    const { code } = await other.call("POST", `${crates}?dryRun=All`, crate("large", { size: 4 }));
    return code === 422;
  });

  // What the other has just made goes with the definition, although the first may not have been told of it yet.
  const last = await other.watch(`${all}?watch=1`);
  const over = drained(last);
  assert.equal((await other.call("POST", crates, crate("third"))).code, 201);
  const storedCrates = async () => (await one.store.list("/registry/cargo.example/crates/")).entries.length;
  assert.equal(await storedCrates(), 3);
  const deleted = await one.call("DELETE", `${definitions}/${definitionName}`);
  assert.equal(deleted.code, 200, deleted.text);
  await heard(told, ({ type }) => type === "DELETED");
  await Promise.all([one, other].map((server) => served(server, () => !isServing(server))));
  await over;
  for (const server of [one, other]) {
    assert.equal((await server.call("GET", all)).code, 404);
    assert.equal((await server.call("GET", `${definitions}/${definitionName}`)).code, 404);
  }
  assert.equal(await storedCrates(), 0);
}

test("a definition made at one of two servers of a store in memory is served by both", async () => {
  const store = new MemoryStore({ clock: new ManualClock(0) });
  await using one = await testServer({ store });
  await using other = await testServer({ store });
  await whileTimePasses([one, other], exercise(one, other));
});

test("the same on etcd", { skip: noEtcd }, async () => {
  const { endpoints, stop } = await startEtcd();
  await using _ = { [Symbol.asyncDispose]: () => stop() };
  const open = (): StoreEngine =>
    new EtcdStore({ endpoints, clock: systemClock, random: systemRandom, log: silentLog });
  await using one = await testServer({ store: open() });
  await using other = await testServer({ store: open() });
  await whileTimePasses([one, other], exercise(one, other));
});
