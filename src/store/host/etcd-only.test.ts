// What only the etcd engine has: TLS, leases, alarms, several engines on one store, members that misbehave.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Server, ServerCredentials, type ServerDuplexStream, type sendUnaryData } from "@grpc/grpc-js";
import { type Clock, systemClock } from "#base/clock.ts";
import { id, int, message, one, type ProtobufMessage, text } from "#base/host/protobuf.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { Compacted, Damaged, type Entry, OutOfSpace, Unavailable } from "../engine.ts";
import {
  type EtcdCluster,
  type EtcdClusterOptions,
  makeCertificates,
  noEtcd,
  noTls,
  startEtcd,
} from "../testing/etcd.ts";
import { follow } from "../testing.ts";
import { EtcdMembers } from "./etcd/members.ts";
import { rpcs } from "./etcd/messages.ts";
import { EtcdConnection, type EtcdTlsOptions } from "./etcd/transport.ts";
import { EtcdStore, type EtcdStoreOptions } from "./etcd.ts";

const bytes = (value: string) => new TextEncoder().encode(value);
const read = (entry: Entry | undefined) => entry && new TextDecoder().decode(entry.value);
const never = new AbortController().signal;

async function cluster(t: TestContext, options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const started = await startEtcd(options);
  t.after(() => started.stop());
  return started;
}

function open(t: TestContext, options: Partial<EtcdStoreOptions> & Pick<EtcdStoreOptions, "endpoints">): EtcdStore {
  const engine = new EtcdStore({ clock: systemClock, random: systemRandom, log: silentLog, ...options });
  t.after(() => engine.close());
  return engine;
}

/** A hundred times as fast as the world. */
const hurried: Clock = {
  now: () => systemClock.now(),
  elapsed: () => systemClock.elapsed() * 100,
  after: (ms, run) => systemClock.after(ms / 100, run),
  sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
};

/** Asks again until it is so. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 20_000; !(await isSo()); ) {
    assert.ok(performance.now() < deadline, "not within 20 s");
    await systemClock.sleep(20, never);
  }
}

describe("etcd: identity", { skip: noTls }, () => {
  test("client and server know each other by certificate", async (t) => {
    const { endpoints, certificate } = await cluster(t, { tls: true });
    const engine = open(t, { endpoints, tls: certificate! });
    const { modified } = await engine.put("/a", bytes("1"), 0);
    const watcher = follow(engine, "/", 1);
    await watcher.caughtUpTo(modified);
    await watcher.stop();
    assert.equal(watcher.changes.length, 1);

    const { ca, cert, key } = certificate!;
    const attempts: [string, EtcdStoreOptions["tls"], RegExp][] = [
      ["without a certificate", { ca }, /bad certificate|certificate required|ECONNRESET|alert|EPIPE|disconnected/i],
      ["without trust in the server", { cert, key }, /self.signed|unable to (get|verify)/i],
      [
        "with a certificate that nobody trusts",
        otherIdentity(ca),
        /bad certificate|unknown|ECONNRESET|alert|EPIPE|disconnected/i,
      ],
    ];
    for (const [name, tls, reason] of attempts) {
      const stranger = open(t, { endpoints, tls: tls!, requestMs: 500 });
      await assert.rejects(stranger.get("/a"), (error) => {
        assert.ok(error instanceof Unavailable, String(error));
        assert.match(error.message, reason, name);
        return error.message.includes(endpoints[0]!);
      });
    }
    const plain = open(t, { endpoints: [endpoints[0]!.replace("https:", "http:")], requestMs: 500 });
    await assert.rejects(plain.get("/a"), Unavailable);
    assert.throws(() => open(t, { endpoints, tls: { ca, cert } }), /are needed together/);
  });

  test("a certificate that is replaced is shown from then on, and one that is half written is not", async (t) => {
    const { endpoints, certificate } = await cluster(t, { tls: true });
    const good = certificate!;
    const strange = otherIdentity(good.ca) as typeof good;
    let files: EtcdTlsOptions = good;
    const engine = open(t, { endpoints, tls: () => files, clock: hurried, requestMs: 100_000 });
    const { modified } = await engine.put("/a", bytes("1"), 0);
    const watcher = follow(engine, "/", modified);
    const isServed = () =>
      engine.get("/a").then(
        () => true,
        () => false,
      );
    files = { ca: good.ca, cert: strange.cert };
    await systemClock.sleep(100, never); // longer than files are believed
    assert.ok(await isServed());
    files = strange;
    await eventually(async () => !(await isServed()));
    files = good;
    await eventually(isServed);
    const { modified: last } = await engine.put("/a", bytes("2"), modified);
    await watcher.caughtUpTo(last);
    await watcher.stop();
  });

  test("etcd's own users are told apart by the name in the certificate", async (t) => {
    const { endpoints, certificate } = await cluster(t, { tls: true });
    const connection = new EtcdConnection(endpoints[0]!, certificate, systemClock);
    t.after(() => connection.close());
    const limits = { timeoutMs: 10_000 };
    const ok = message("Ok", {});
    const noPassword = message("UserAddOptions", { noPassword: int(1) });
    const user = message("User", { name: text(1), password: text(2), options: one(3, noPassword) });
    const grant = message("Grant", { user: text(1), role: text(2) });
    const role = message("Role", { name: text(1) });
    const auth = <D>(path: string, request: ProtobufMessage<unknown, D>, draft: D) =>
      connection.call({ path: `/etcdserverpb.Auth/${path}`, request, response: ok }, draft, limits);
    await auth("UserAdd", user, { name: "root", password: "x" });
    await auth("RoleAdd", role, { name: "root" });
    await auth("UserGrantRole", grant, { user: "root", role: "root" });
    await auth("UserAdd", user, { name: "client", options: { noPassword: 1 } });
    await auth("UserGrantRole", grant, { user: "client", role: "root" });
    await auth("AuthEnable", ok, {});

    const engine = open(t, { endpoints, tls: certificate! });
    const { modified } = await engine.put("/a", bytes("1"), 0);
    const watcher = follow(engine, "/", 1);
    await watcher.caughtUpTo(modified);
    await watcher.stop();

    await auth("UserRevokeRole", grant, { user: "client", role: "root" });
    await assert.rejects(engine.put("/a", bytes("2"), modified), (error) => {
      assert.ok(error instanceof Error && !(error instanceof Unavailable));
      return /refuses/.test(error.message) && /permission denied/.test(String(error.cause));
    });
    await assert.rejects(engine.get("/a"), /refuses/);
  });
});

/** A certificate of a client whom another authority has signed. */
function otherIdentity(ca: string): EtcdStoreOptions["tls"] {
  const folder = mkdtempSync(join(tmpdir(), "knarr-certificates-"));
  try {
    return { ...makeCertificates(folder).client, ca };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("etcd: limits", { skip: noEtcd }, () => {
  test("a full etcd refuses puts, but takes deletes and compaction, and says so", async (t) => {
    const { endpoints } = await cluster(t, { flags: ["--quota-backend-bytes=2000000"] });
    const engine = open(t, { endpoints });
    const members = new EtcdMembers({ endpoints, tls: {}, clock: systemClock });
    assert.equal(await members.alarm(never), undefined);
    const entries: Entry[] = [];
    // The write that fills it up is carried out, and yet answered as refused.
    await assert.rejects(
      async () => {
        for (let i = 0; i < 100; i++) entries.push(await engine.put(`/big/${i}`, new Uint8Array(200_000), 0));
      },
      (error) =>
        error instanceof OutOfSpace || (error instanceof Unavailable && /outcome is unknown/.test(error.message)),
    );
    const before = await engine.list("/big/");
    assert.ok(entries.length > 3);
    await assert.rejects(engine.put("/small", bytes("1"), 0), OutOfSpace);
    await assert.rejects(engine.put("/small", bytes("1"), 0, { ttlSeconds: 60 }), OutOfSpace);
    assert.match((await engine.status()).alarm ?? "", /no space left.*disarm/);
    assert.match((await members.alarm(never)) ?? "", /no space left.*disarm/);

    const { key, modified } = entries[0]!;
    const gone = await engine.delete(key, modified);
    await engine.compact(gone);
    assert.equal((await engine.status()).compacted, gone);
    assert.deepEqual(
      (await engine.list("/big/")).entries.map((entry) => entry.key),
      before.entries.map((entry) => entry.key).filter((found) => found !== key),
    );
  });

  test("a value that etcd does not take is refused by name, and is no question of availability", async (t) => {
    const { endpoints } = await cluster(t);
    const engine = open(t, { endpoints });
    for (const size of [1_600_000, 3_000_000])
      await assert.rejects(engine.put("/huge", new Uint8Array(size), 0), (error) => {
        assert.ok(error instanceof Error && !(error instanceof Unavailable) && error.cause instanceof Error);
        return /^put \/huge: etcd at .* refuses$/.test(error.message) && /large/.test(error.cause.message);
      });
    await assert.rejects(engine.put("/a", bytes("1"), -1), RangeError);
    await assert.rejects(engine.put("", bytes("1"), 0), RangeError);
  });

  test("a list larger than a message is whole, and from one revision", async (t) => {
    const { endpoints } = await cluster(t);
    const engine = open(t, { endpoints });
    const value = new Uint8Array(30_000);
    const keys = Array.from({ length: 700 }, (_, i) => `/many/${String(i).padStart(4, "0")}`);
    await Promise.all(keys.map((key) => engine.put(key, value, 0)));
    const listing = engine.list("/many/");
    const late = Promise.all(["/many/0699x", "/many/9"].map((key) => engine.put(key, value, 0)));
    const page = await listing;
    await late;
    const found = page.entries.map(({ key }) => key);
    assert.deepEqual(
      found.filter((key) => keys.includes(key)),
      keys,
    );
    assert.ok(page.entries.every(({ modified }) => modified <= page.revision));
    const again = await engine.list("/many/", { at: page.revision, limit: 650 });
    assert.deepEqual(
      again.entries.map(({ key }) => key),
      found.slice(0, 650),
    );
    assert.equal(again.remaining, found.length - 650);
    assert.equal((await engine.list("/many/", { limit: 0 })).remaining, 702);
  });

  test("a watcher that falls far behind reads on from etcd, without gap or repetition", async (t) => {
    const { endpoints } = await cluster(t);
    const engine = open(t, { endpoints });
    const start = await engine.revision();
    const stop = new AbortController();
    const slow = engine.watch("/big/", start, stop.signal)[Symbol.asyncIterator]();
    await slow.next();
    const wanted: number[] = [];
    let modified = 0;
    for (let i = 0; i < 40; i++) {
      ({ modified } = await engine.put("/big/a", new Uint8Array(400_000).fill(i), modified));
      wanted.push(i);
      await engine.put(`/elsewhere/${i}`, bytes("1"), 0);
    }
    const quick = follow(engine, "/big/", modified - 4);
    await quick.caughtUpTo(modified);
    assert.equal(quick.changes.length, 2);
    await quick.stop();
    const seen: number[] = [];
    while (seen.length < wanted.length) {
      const { value, done } = await slow.next();
      assert.ok(!done);
      for (const { entry, previous } of value.changes) {
        assert.equal(previous?.value[0], seen.at(-1));
        seen.push(entry.value[0]!);
      }
    }
    stop.abort();
    assert.deepEqual(seen, wanted);
    assert.equal((await slow.next()).done, true);
  });
});

describe("etcd: silence", { skip: noEtcd }, () => {
  test("a silent watcher hears every minute how far it has seen", async (t) => {
    const { endpoints } = await cluster(t);
    const engine = open(t, { endpoints, clock: hurried, requestMs: 1_000_000, silenceMs: 1_000_000 });
    const watcher = follow(engine, "/w/", await engine.revision());
    for (let minute = 0; minute < 3; minute++) {
      const { modified } = await engine.put(`/elsewhere/${minute}`, bytes("1"), 0);
      await watcher.caughtUpTo(modified);
    }
    await watcher.stop();
    assert.deepEqual(watcher.changes, []);
  });
});

describe("etcd: time to live", { skip: noEtcd }, () => {
  const leasesUnder = async (endpoint: string, prefix: string) => {
    const connection = new EtcdConnection(endpoint, undefined, systemClock);
    const { kvs } = await connection.call(rpcs.range, { key: prefix, rangeEnd: `${prefix}~` }, { timeoutMs: 5_000 });
    connection.close();
    return kvs.map(({ lease }) => lease);
  };

  test("writes that expire at about the same time share a lease, others do not", async (t) => {
    const { endpoints } = await cluster(t);
    const engine = open(t, { endpoints });
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => engine.put(`/same/${i}`, bytes("1"), 0, { ttlSeconds: 3600 })),
    );
    assert.ok(new Set(await leasesUnder(endpoints[0]!, "/same/")).size <= 2);
    await Promise.all([10, 20, 30].map((ttl) => engine.put(`/other/${ttl}`, bytes("1"), 0, { ttlSeconds: ttl })));
    assert.equal(new Set(await leasesUnder(endpoints[0]!, "/other/")).size, 3);
    await engine.put("/forever", bytes("1"), 0);
    assert.deepEqual(await leasesUnder(endpoints[0]!, "/forever"), [0n]);
  });

  test("a lease that is gone from etcd before its time is replaced", async (t) => {
    const { endpoints } = await cluster(t);
    const engine = open(t, { endpoints });
    await engine.put("/t/a", bytes("1"), 0, { ttlSeconds: 3600 });
    const [lease] = await leasesUnder(endpoints[0]!, "/t/");
    const connection = new EtcdConnection(endpoints[0]!, undefined, systemClock);
    t.after(() => connection.close());
    await connection.call(rpcs.leaseRevoke, { id: lease! }, { timeoutMs: 5_000 });
    assert.equal(await engine.get("/t/a"), undefined);
    const again = await Promise.all([1, 2, 3].map((i) => engine.put(`/t/${i}`, bytes("1"), 0, { ttlSeconds: 3600 })));
    assert.equal(again.length, 3);
    assert.ok(!(await leasesUnder(endpoints[0]!, "/t/")).includes(lease!));
  });

  test("keys of one lease go in one revision, in one batch", async (t) => {
    const { endpoints } = await cluster(t);
    const leases: number[] = [];
    const engine = open(t, { endpoints, onLeaseFull: (writes) => leases.push(writes) });
    const start = await engine.revision();
    await Promise.all(Array.from({ length: 10 }, (_, i) => engine.put(`/t/${i}`, bytes("1"), 0, { ttlSeconds: 1 })));
    const deletes = new Map<number, number>();
    const stop = new AbortController();
    for await (const { changes } of engine.watch("/t/", start, stop.signal)) {
      const revisions = new Set(changes.filter(({ type }) => type === "delete").map(({ entry }) => entry.modified));
      for (const revision of revisions) {
        assert.ok(!deletes.has(revision), "a revision came in two batches");
        deletes.set(revision, changes.filter(({ entry }) => entry.modified === revision).length);
      }
      if ([...deletes.values()].reduce((a, b) => a + b, 0) === 10) stop.abort();
    }
    assert.ok(deletes.size <= 2, "ten keys, at most two leases");
    assert.deepEqual(leases.toSorted(), [...deletes.values()].toSorted(), "and so they are counted");
  });
});

describe("etcd: several engines on one store", { skip: noEtcd }, () => {
  test("what one writes the others see at once, and conflicts are between all", async (t) => {
    const { endpoints } = await cluster(t, { members: 3 });
    const engines = endpoints.map((endpoint) => open(t, { endpoints: [endpoint] }));
    const [one, two, three] = engines;
    const watchers = engines.map((engine) => follow(engine, "/", 1));
    const first = await one!.put("/a", bytes("1"), 0);
    assert.equal(read(await two!.get("/a")), "1");
    assert.equal(await three!.revision(), first.modified);
    const results = await Promise.allSettled(
      engines.map((engine, i) => engine.put("/a", bytes(`${i}`), first.modified)),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    for (const watcher of watchers) {
      await watcher.caughtUpTo(first.modified + 1);
      await watcher.stop();
      assert.equal(watcher.changes.length, 2);
    }
  });

  test("together they keep the history they were told to keep, and no more", async (t) => {
    const { endpoints } = await cluster(t);
    const keep = { keepMs: 300, keepRevisions: 30 };
    const engines = Array.from({ length: 3 }, () => open(t, { endpoints, ...keep }));
    const watchers = engines.map((engine) => follow(engine, "/", 1));
    let written = 0;
    await eventually(async () => {
      for (const engine of engines) await engine.put(`/k/${written++}`, bytes("1"), 0);
      return (await engines[0]!.status()).compacted > 100;
    });
    for (const engine of engines) {
      const { revision, compacted } = await engine.status();
      assert.ok(revision - compacted >= keep.keepRevisions, `${compacted} of ${revision}`);
      await engine.list("/k/", { at: revision - keep.keepRevisions });
      await assert.rejects(engine.list("/k/", { at: compacted - 1 }), Compacted);
    }
    for (const watcher of watchers) {
      await watcher.until(() => watcher.changes.filter(({ entry }) => entry.key.startsWith("/k/")).length === written);
      await watcher.stop();
    }
    const turn = await engines[0]!.get("compact_rev_key");
    assert.ok(Number(read(turn)) > 0);
  });
});

describe("etcd: what a person must look at", { skip: noEtcd }, () => {
  test("endpoints of two clusters are noticed before anything is written to the wrong one", async (t) => {
    const [one, two] = await Promise.all([cluster(t), cluster(t)]);
    const endpoints = [one.endpoints[0]!, two.endpoints[0]!];
    const engine = open(t, { endpoints, requestMs: 2_000 });
    await engine.put("/first", bytes("1"), 0);
    const witness = await Promise.all(endpoints.map((endpoint) => open(t, { endpoints: [endpoint] }).get("/first")));
    const [home, other] = witness[0] ? [one, two] : [two, one];
    await home.members[0]!.kill();
    const isNoticed = (error: unknown) => error instanceof Damaged && /belongs to cluster/.test(error.message);
    await assert.rejects(engine.get("/first"), isNoticed);
    await assert.rejects(engine.put("/second", bytes("1"), 0), isNoticed);
    assert.equal(await open(t, { endpoints: other.endpoints }).get("/second"), undefined);
  });

  test("a history that has gone back is noticed", async (t) => {
    const { endpoints, members } = await cluster(t);
    const engine = open(t, { endpoints });
    for (let i = 0; i < 5; i++) await engine.put(`/${i}`, bytes("1"), 0);
    const watcher = follow(engine, "/", 1);
    await watcher.caughtUpTo(await engine.revision());
    await members[0]!.kill();
    members[0]!.wipe();
    await members[0]!.start();
    await assert.rejects(watcher.ended, Damaged);
    await assert.rejects(
      engine.get("/1"),
      (error) => error instanceof Damaged && /restored from a backup/.test(error.message),
    );
  });

  test("endpoints that are none are refused at once", (t) => {
    for (const endpoints of [[], ["127.0.0.1:2379"], ["http://a:1/path"]])
      assert.throws(() => open(t, { endpoints }), /etcd/);
  });

  test("nobody at the endpoints: every call says where it looked and what it found", async (t) => {
    const endpoints = ["http://127.0.0.1:1", "http://127.0.0.1:2"];
    const engine = open(t, { endpoints, requestMs: 300 });
    const calls = {
      "get /a": () => engine.get("/a"),
      "put /a": () => engine.put("/a", bytes("1"), 0),
      "delete /a": () => engine.delete("/a", 1),
      "list /a": () => engine.list("/a"),
    };
    for (const [what, call] of Object.entries(calls))
      await assert.rejects(call(), (error) => {
        assert.ok(error instanceof Unavailable, String(error));
        assert.ok(
          error.message.startsWith(`${what}: etcd at ${endpoints.join(", ")} is not available (`),
          error.message,
        );
        assert.doesNotMatch(error.message, /outcome/, "nothing was sent");
        return [1, 2].every((port) =>
          new RegExp(`http://127.0.0.1:${port}: [^;]*ECONNREFUSED 127.0.0.1:${port}`).test(error.message),
        );
      });
  });
});

/** A member that does as the test says. */
class FakeMember {
  readonly txns: Uint8Array[] = [];
  readonly streams: ServerDuplexStream<Uint8Array, Uint8Array>[] = [];
  onTxn: (answer: sendUnaryData<Uint8Array>) => void = () => undefined;
  onWatch: (stream: ServerDuplexStream<Uint8Array, Uint8Array>) => void = () => undefined;
  readonly #server = new Server();
  endpoint = "";
  version = "3.6.1";

  async start(t: TestContext): Promise<this> {
    const plain = {
      requestSerialize: Buffer.from,
      requestDeserialize: (b: Buffer) => b,
      responseSerialize: (b: Uint8Array) => Buffer.from(b),
      responseDeserialize: (b: Buffer) => b,
    };
    const unary = { requestStream: false, responseStream: false, ...plain };
    const { range, status, txn, watch } = rpcs;
    this.#server.addService(
      {
        range: { path: range.path, ...unary },
        status: { path: status.path, ...unary },
        txn: { path: txn.path, ...unary },
        watch: { path: watch.path, requestStream: true, responseStream: true, ...plain },
      },
      {
        range: (_call: unknown, answer: sendUnaryData<Uint8Array>) => answer(null, answers.header(5)),
        status: (_call: unknown, answer: sendUnaryData<Uint8Array>) => answer(null, answers.status(this.version)),
        txn: (call: { request: Uint8Array }, answer: sendUnaryData<Uint8Array>) => {
          this.txns.push(call.request);
          this.onTxn(answer);
        },
        watch: (stream: ServerDuplexStream<Uint8Array, Uint8Array>) => {
          this.streams.push(stream);
          stream.on("error", () => undefined);
          this.onWatch(stream);
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) =>
      this.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    this.endpoint = `http://127.0.0.1:${port}`;
    t.after(() => this.drop());
    return this;
  }

  /** Breaks all connections, and listens no more. */
  drop(): void {
    this.#server.forceShutdown();
  }
}

const Header = message("Header", { clusterId: id(1), revision: int(3) });
const header = { clusterId: 7n };
const answers = {
  header: (revision: number) =>
    message("Range", { header: one(1, Header) }).encode({ header: { ...header, revision } }),
  status: (version: string) =>
    message("Status", { header: one(1, Header), version: text(2) }).encode({
      header: { ...header, revision: 5 },
      version,
    }),
  txn: (revision: number) =>
    message("Txn", { header: one(1, Header), succeeded: int(2) }).encode({
      header: { ...header, revision },
      succeeded: 1,
    }),
  compacted: (revision: number) =>
    message("Watch", { header: one(1, Header), canceled: int(4), compactRevision: int(5) }).encode({
      header,
      canceled: 1,
      compactRevision: revision,
    }),
  created: () => message("Watch", { header: one(1, Header), created: int(3) }).encode({ header, created: 1 }),
};

describe("etcd: members that misbehave", () => {
  test("a write whose connection breaks is of unknown outcome, and is not sent again", async (t) => {
    const members = await Promise.all([new FakeMember().start(t), new FakeMember().start(t)]);
    const engine = open(t, { endpoints: members.map(({ endpoint }) => endpoint), requestMs: 2_000 });
    for (const member of members) member.onTxn = () => member.drop();
    await assert.rejects(engine.put("/a", bytes("1"), 0), (error) => {
      assert.ok(error instanceof Unavailable, String(error));
      return /put \/a: .*its outcome is unknown/.test(error.message);
    });
    assert.equal(members[0]!.txns.length + members[1]!.txns.length, 1);
  });

  test("a write that a member refuses for want of a leader is sent to another one", async (t) => {
    const members = await Promise.all([new FakeMember().start(t), new FakeMember().start(t)]);
    const engine = open(t, { endpoints: members.map(({ endpoint }) => endpoint) });
    let refusals = 0;
    for (const member of members)
      member.onTxn = (answer) => {
        if (refusals++ === 0) answer({ code: 14, details: "etcdserver: no leader" });
        else answer(null, answers.txn(6));
      };
    assert.equal((await engine.put("/a", bytes("1"), 0)).modified, 6);
    assert.deepEqual(
      members.map(({ txns }) => txns.length),
      [1, 1],
    );
  });

  test("a write to a silent member fails by its deadline; the next one goes elsewhere at once", async (t) => {
    const members = await Promise.all([new FakeMember().start(t), new FakeMember().start(t)]);
    const engine = open(t, { endpoints: members.map(({ endpoint }) => endpoint), requestMs: 400, silenceMs: 100 });
    let silent: FakeMember | undefined;
    for (const member of members)
      member.onTxn = (answer) => {
        silent ??= member;
        if (silent !== member) answer(null, answers.txn(6));
      };
    await assert.rejects(engine.put("/a", bytes("1"), 0), /no answer within .* ms/);
    assert.equal((await engine.put("/a", bytes("1"), 0)).modified, 6);
    assert.equal(silent?.txns.length, 1);
  });

  test("a watch on a member that is silent moves to another one", async (t) => {
    const members = await Promise.all([new FakeMember().start(t), new FakeMember().start(t)]);
    for (const member of members) member.onWatch = (stream) => stream.write(answers.created());
    const endpoints = members.map(({ endpoint }) => endpoint);
    const engine = open(t, { endpoints, clock: hurried, requestMs: 1_000_000 });
    const watcher = follow(engine, "/", 5);
    await watcher.caughtUpTo(5);
    await eventually(async () => members.every(({ streams }) => streams.length > 0));
    await watcher.stop();
  });

  test("watchers are told when history was forgotten while there was no connection", async (t) => {
    const member = await new FakeMember().start(t);
    member.onWatch = (stream) => stream.write(answers.created());
    const engine = open(t, { endpoints: [member.endpoint] });
    const watchers = ["/", "/a/"].map((prefix) => follow(engine, prefix, 5));
    for (const watcher of watchers) await watcher.caughtUpTo(5);
    await eventually(async () => member.streams.length > 0);
    member.onWatch = (stream) => stream.write(answers.compacted(9));
    member.streams[0]!.end();
    for (const watcher of watchers)
      await assert.rejects(watcher.ended, (error) => error instanceof Compacted && error.oldest === 9);
  });

  test("an etcd that is too old is refused by its version", async (t) => {
    const member = await new FakeMember().start(t);
    for (const version of ["3.3.27", "2.3.8"]) {
      member.version = version;
      const engine = open(t, { endpoints: [member.endpoint] });
      await assert.rejects(
        engine.put("/a", bytes("1"), 0),
        new RegExp(`has version ${version}; 3.4 or newer is needed`),
      );
    }
    assert.equal(member.txns.length, 0);
  });

  test("an answer that is no message is refused, and does not end the process", async (t) => {
    const member = await new FakeMember().start(t);
    member.onTxn = (answer) => answer(null, Uint8Array.of(255, 255, 255));
    const engine = open(t, { endpoints: [member.endpoint], requestMs: 1_000 });
    await assert.rejects(engine.put("/a", bytes("1"), 0), Unavailable);
  });
});
