import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, decode, encode } from "dns-packet";
import fc from "fast-check";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { seededRandom } from "#base/random.ts";
import { type ChainContext, ChainResolver } from "./chain-resolver.ts";
import { CorefileError, parseCorefile } from "./corefile.ts";
import { smallDirectory } from "./testing.ts";

/** Answers every A with 192.0.2.1, and knows no name that begins with "no". */
const elsewhere = () => {
  const asked: string[] = [];
  const ask = async (bytes: Uint8Array): Promise<Uint8Array> => {
    const query = decode(Buffer.from(bytes));
    const [question] = query.questions ?? [];
    asked.push(`${question?.type} ${question?.name}`);
    const isKnown = !question?.name.startsWith("no");
    const answers = isKnown ? [{ type: "A" as const, name: question?.name ?? "", ttl: 60, data: "192.0.2.1" }] : [];
    const authorities = isKnown
      ? []
      : [
          {
            type: "SOA" as const,
            name: "example",
            ttl: 60,
            data: { mname: "a", rname: "b", serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 60 },
          },
        ];
    const reply = encode({
      type: "response",
      id: query.id ?? 0,
      questions: query.questions ?? [],
      answers,
      authorities,
    });
    reply[3] = isKnown ? 0x80 : 0x83;
    return reply;
  };
  return { ask, asked };
};

function server(text: string, more: Partial<ChainContext> = {}) {
  const upstream = elsewhere();
  const clock = new ManualClock(0);
  const metrics = new MetricRegistry();
  const resolver = new ChainResolver(parseCorefile(text), 53, {
    directory: smallDirectory,
    hasDirectory: () => true,
    servers: ["10.96.0.10"],
    upstream: () => upstream.ask,
    readText: () => "nameserver 192.0.2.53\n",
    fatal: (problem) => {
      throw problem;
    },
    clock,
    random: seededRandom(1),
    log: silentLog,
    metrics,
    ...more,
  });
  const ask = async (name: string, type: "A" | "AAAA" | "PTR" | "TXT" | "SRV" = "A") => {
    const bytes = await resolver.answer(
      encode({ type: "query", id: 7, flags: 0x100, questions: [{ type, name }] }),
      "udp",
      "10.0.0.1",
    );
    assert.ok(bytes);
    assert.equal(bytes.readUInt16BE(0), 7);
    const reply = decode(bytes);
    assert.equal(reply.questions?.[0]?.name, name, "the question is repeated as it was asked");
    const told = (reply.answers ?? []).map(
      (one) => `${one.name} ${(one as Answer & { ttl: number }).ttl} ${one.type} ${(one as { data: unknown }).data}`,
    );
    const code = (bytes[3] ?? 0) & 15;
    return code === 0 ? told : [["", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"][code] ?? ""];
  };
  return { ask, clock, metrics, asked: upstream.asked, resolver };
}

const usualCorefile = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`;

test("the Corefile of the add-on answers for the cluster, and forwards the rest", async () => {
  const { ask, asked } = server(usualCorefile);
  assert.deepEqual(await ask("web.default.svc.cluster.local"), ["web.default.svc.cluster.local 30 A 10.96.0.7"]);
  assert.deepEqual(await ask("WEB.default.svc.cluster.local"), ["web.default.svc.cluster.local 30 A 10.96.0.7"]);
  assert.deepEqual(await ask("none.default.svc.cluster.local"), ["NXDOMAIN"]);
  assert.deepEqual(await ask("10-244-1-2.default.pod.cluster.local"), [
    "10-244-1-2.default.pod.cluster.local 30 A 10.244.1.2",
  ]);
  assert.deepEqual(await ask("7.0.96.10.in-addr.arpa", "PTR"), [
    "7.0.96.10.in-addr.arpa 30 PTR web.default.svc.cluster.local",
  ]);
  assert.deepEqual(asked, []);
  assert.deepEqual(await ask("www.example"), ["www.example 60 A 192.0.2.1"]);
  assert.deepEqual(await ask("9.9.9.9.in-addr.arpa"), ["9.9.9.9.in-addr.arpa 60 A 192.0.2.1"], "falls through");
  assert.deepEqual(asked, ["A www.example", "A 9.9.9.9.in-addr.arpa"]);
});

test("an external name is told with where it leads, and one that leads to itself ends", async () => {
  const { ask } = server(usualCorefile);
  assert.deepEqual(await ask("out.default.svc.cluster.local"), [
    "out.default.svc.cluster.local 30 CNAME elsewhere.example",
    "elsewhere.example 60 A 192.0.2.1",
  ]);
  assert.match((await ask("round.default.svc.cluster.local"))[0] ?? "", /CNAME/);
});

test("no name of the cluster is denied before the cluster is known", async () => {
  const { ask } = server(usualCorefile, { hasDirectory: () => false });
  assert.deepEqual(await ask("web.default.svc.cluster.local"), ["SERVFAIL"]);
});

test("the cache answers with what is left of the TTL, and asks again after it", async () => {
  const { ask, asked, clock, metrics } = server(". {\n cache 30\n forward . 192.0.2.53\n}");
  assert.deepEqual(await ask("a.example"), ["a.example 60 A 192.0.2.1"]);
  await clock.advance(10_000);
  assert.deepEqual(await ask("a.example"), ["a.example 50 A 192.0.2.1"]);
  await clock.advance(20_001);
  assert.deepEqual(await ask("no.example"), ["NXDOMAIN"]);
  assert.deepEqual(await ask("no.example"), ["NXDOMAIN"]);
  assert.deepEqual(await ask("a.example"), ["a.example 60 A 192.0.2.1"]);
  assert.deepEqual(asked, ["A a.example", "A no.example", "A a.example"]);
  assert.match(await metrics.text(), /coredns_cache_hits_total\{type="denial"\} 1/);
});

test("rewriting asks for another name, and answers for that of the client", async () => {
  const { ask, asked } = server(`. {
    rewrite name exact old.example web.default.svc.cluster.local
    rewrite name suffix .corp.example .default.svc.cluster.local
    rewrite name regex (.*)-(us|eu)\\.shop\\.example {1}.{2}.example
    kubernetes cluster.local
    forward . 192.0.2.53
  }`);
  assert.deepEqual(await ask("old.example"), ["old.example 5 A 10.96.0.7"]);
  assert.deepEqual(await ask("web.corp.example"), ["web.corp.example 5 A 10.96.0.7"]);
  assert.deepEqual(await ask("a-eu.shop.example"), ["a-eu.shop.example 60 A 192.0.2.1"]);
  assert.deepEqual(asked, ["A a.eu.example"]);
});

test("hosts come from the Corefile, with their reverse names", async () => {
  const { ask } = server(
    ". {\n hosts {\n 10.1.1.1 db.example db\n fd00::1 db.example\n ttl 9\n fallthrough\n }\n forward . 192.0.2.53\n}",
  );
  assert.deepEqual(await ask("db.example"), ["db.example 9 A 10.1.1.1"]);
  assert.deepEqual(await ask("db.example", "AAAA"), ["db.example 9 AAAA fd00::1"]);
  assert.deepEqual(await ask("1.1.1.10.in-addr.arpa", "PTR"), [
    "1.1.1.10.in-addr.arpa 9 PTR db.example",
    "1.1.1.10.in-addr.arpa 9 PTR db",
  ]);
  assert.deepEqual(await ask("other.example"), ["other.example 60 A 192.0.2.1"]);
});

test("a template answers by a pattern", async () => {
  const { ask } = server(`example {
    template IN A ip.example {
      match "(^|[.])ip-(?P<a>[0-9]+)-(?P<b>[0-9]+)-(?P<c>[0-9]+)-(?P<d>[0-9]+)[.]ip[.]example[.]$"
      answer "{{ .Name }} 60 IN A {{ .Group.a }}.{{ .Group.b }}.{{ .Group.c }}.{{ .Group.d }}"
    }
    template IN TXT {
      answer "{{ .Name }} 5 IN TXT hello"
    }
  }`);
  assert.deepEqual(await ask("ip-10-0-0-9.ip.example"), ["ip-10-0-0-9.ip.example 60 A 10.0.0.9"]);
  assert.deepEqual(await ask("x.ip.example"), ["NXDOMAIN"]);
  assert.deepEqual(await ask("x.example", "TXT"), ["x.example 5 TXT hello"]);
  assert.deepEqual(await ask("elsewhere"), ["REFUSED"]);
});

test("a loop of forwarding is found", () => {
  const problems: string[] = [];
  let resolver: ChainResolver | undefined;
  // What is forwarded comes back.
  const upstream = () => async (bytes: Uint8Array) =>
    (await resolver?.answer(Buffer.from(bytes), "udp")) ?? Buffer.alloc(0);
  const found = Promise.withResolvers<void>();
  const fatal = (problem: Error) => {
    problems.push(problem.message);
    found.resolve();
    throw problem;
  };
  ({ resolver } = server(". {\n loop\n forward . 192.0.2.53\n}", { upstream, fatal }));
  resolver.started();
  return found.promise.then(() => assert.match(problems[0] ?? "", /Loop detected/));
});

test("a Corefile that is wrong says where", () => {
  const wrong = (text: string) => {
    try {
      server(text);
    } catch (error) {
      assert.ok(error instanceof CorefileError, String(error));
      return error.message;
    }
    return "";
  };
  assert.equal(
    wrong(".:53 {\n  errors\n  whoknows\n}"),
    "Corefile:3 - Error during parsing: unknown directive 'whoknows'",
  );
  assert.match(wrong(". {"), /no closing brace/);
  assert.match(wrong("}"), /closes nothing/);
  assert.match(wrong(". {\n forward .\n}"), /forward FROM TO/);
  assert.match(wrong(". {\n kubernetes {\n  pods verified\n }\n}"), /verified is not supported/);
  assert.match(wrong(". {\n}\n. {\n}"), /already defined/);
  assert.match(wrong("tls://. {\n}"), /only dns:\/\//);
  assert.match(wrong('. {\n log "\n}'), /quotation mark/);
});

test("snippets are imported, and the environment is read", () => {
  const { blocks } = parseCorefile("(usual) {\n errors\n}\n{$ZONE}, 10.0.0.0/8 {\n import usual\n log # all\n}", {
    env: { ZONE: "example:1053" },
  });
  assert.deepEqual(blocks[0]?.zones, [
    { zone: "example", port: 1053 },
    { zone: "10.in-addr.arpa", port: 53 },
  ]);
  assert.deepEqual(
    blocks[0]?.directives.map(({ name }) => name),
    ["errors", "log"],
  );
});

test("any text is a Corefile, or is refused as one", () => {
  const word = fc.constantFrom(
    "{",
    "}",
    "\n",
    " ",
    '"',
    "#",
    ".",
    ":53",
    "kubernetes",
    "forward",
    "cache",
    "rewrite",
    "name",
    "regex",
    "(",
    "template",
    "IN",
    "A",
    "hosts",
    "30",
    "{$X}",
    "import",
    "\\",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(word, { maxLength: 60 }).map((words) => words.join(" ")),
  );
  fc.assert(
    fc.property(text, (corefile) => {
      try {
        server(corefile);
      } catch (error) {
        if (!(error instanceof CorefileError)) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});

test("any packet gets an answer or none, and never an error", async () => {
  const { resolver } = server(usualCorefile);
  const query = encode({
    type: "query",
    id: 7,
    flags: 0x100,
    questions: [{ type: "A", name: "web.default.svc.cluster.local" }],
  });
  const flipped = fc
    .array(fc.tuple(fc.nat(query.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 })
    .map((changes) => {
      const copy = Buffer.from(query);
      for (const [at, value] of changes) copy[at] = value;
      return copy;
    });
  const random = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(flipped, random),
      fc.constantFrom("udp" as const, "tcp" as const),
      async (bytes, transport) => {
        const reply = await resolver.answer(bytes, transport, "");
        if (!reply) return;
        assert.ok(reply.length <= (transport === "udp" ? 1232 : 65_535));
        assert.deepEqual(reply.subarray(0, 2), bytes.subarray(0, 2));
      },
    ),
    { numRuns: 5000 },
  );
});
