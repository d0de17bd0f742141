// Servers that cut, hang, send too much or lie: whoever asks gets words and an exit code, and nothing is left open.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { systemClock } from "#base/clock.ts";
import { RestClient } from "#kubectl/rest/client.ts";
import { RequestLog } from "#kubectl/rest/request-log.ts";
import { RestTransport } from "#kubectl/rest/transport.ts";
import { run } from "./running.ts";

type Answer = (asked: IncomingMessage, response: ServerResponse) => void;

class BadServer implements Disposable {
  readonly #server;
  readonly requests: string[] = [];

  constructor(answer: Answer) {
    this.#server = createServer((asked, response) => {
      this.requests.push(asked.url ?? "");
      response.on("error", () => undefined); // whoever asked has left
      answer(asked, response);
    });
  }

  async listen(): Promise<URL> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function asked(answer: Answer, ...line: readonly string[]) {
  using server = new BadServer(answer);
  const url = await server.listen();
  const args = [...line, "-s", url.origin, "--cache-dir", "/dev/null/none"];
  return {
    ...(await run(args, { env: { HOME: "/nonexistent", KUBECONFIG: "/dev/null" } })),
    requests: server.requests,
  };
}

const json = (response: ServerResponse, value: unknown) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};
const resource = (name: string, kind: string) => ({
  resource: name,
  singularResource: kind.toLowerCase(),
  scope: "Namespaced",
  responseKind: { group: "", version: "", kind },
  verbs: ["get", "list", "watch", "create", "delete", "patch", "update"],
});
const discovery = (group: string, version: string, ...resources: object[]) => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  items: [{ metadata: group === "" ? {} : { name: group }, versions: [{ version, resources }] }],
});
/** Says what it serves as it should be said; what is asked of that, the answer decides. */
const serving =
  (answer: Answer): Answer =>
  (request, response) => {
    const path = request.url?.split("?")[0];
    if (path === "/api") json(response, discovery("", "v1", resource("pods", "Pod"), resource("nodes", "Node")));
    else if (path === "/apis") json(response, discovery("apps", "v1", resource("deployments", "Deployment")));
    else answer(request, response);
  };

test("an answer that is cut in the middle is told of, packed or not", async () => {
  const packed = gzipSync(Buffer.from(JSON.stringify({ kind: "PodList", items: [] }).repeat(1000)));
  for (const encoding of ["gzip", "identity"]) {
    const { code, stderr } = await asked(
      serving((_request, response) => {
        response.writeHead(200, { "content-encoding": encoding, "content-length": String(packed.length + 100) });
        response.write(packed.subarray(0, 50));
        setImmediate(() => response.destroy());
      }),
      ...["get", "pods"],
    );
    assert.equal(code, 1);
    assert.match(stderr, /connection reset|unexpected/, encoding);
  }
});

test("a server that stops in the middle is left when the time is over", async () => {
  const { code, stderr } = await asked(
    serving((_request, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("{");
    }),
    ...["get", "pods", "--request-timeout=300ms"],
  );
  assert.equal(code, 1);
  assert.match(stderr, /request canceled/);
});

test("a list of a gigabyte is refused when it is announced, before it is sent", async () => {
  const { code, stderr } = await asked(
    serving((_request, response) => {
      response.writeHead(200, { "content-length": String(1024 ** 3), "content-type": "application/json" });
      response.write('{"kind":"PodList","items":[');
    }),
    ...["get", "pods", "-o", "json"],
  );
  assert.equal(code, 1);
  assert.match(stderr, /the server's answer has more than \d+ MiB; ask for less: with a selector/);
});

test("of a list that does not end, no more is kept than may be, packed or not", async () => {
  const megabyte = Buffer.alloc(1024 * 1024, " ");
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
  for (const isPacked of [true, false]) {
    let isOpen = true;
    using server = new BadServer((_request, response) => {
      if (isPacked) {
        response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
        return;
      }
      response.once("close", () => {
        isOpen = false;
      });
      const more = () => {
        while (isOpen && response.write(megabyte));
      };
      response.on("drain", more);
      more();
    });
    const client = new RestClient({
      transport: new RestTransport({
        server: await server.listen(),
        tls: {},
        headers: {},
        compress: true,
      }),
      log: new RequestLog(0, systemClock, () => undefined),
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 0,
      warn: () => undefined,
      answerLimit: 8 * 1024 * 1024,
    });
    await assert.rejects(client.json({ path: "/api/v1/pods" }), /more than 8 MiB/);
    client.close();
  }
});

test("an event that does not end is refused", async () => {
  const part = Buffer.alloc(1024 * 1024, "x");
  let isOpen = true;
  const { code, stderr } = await asked(
    serving((request, response) => {
      if (!request.url?.includes("watch=")) return json(response, { kind: "PodList", metadata: {}, items: [] });
      response.once("close", () => {
        isOpen = false;
      });
      const more = () => {
        while (isOpen && response.write(part));
      };
      response.on("drain", more);
      response.write('{"type":"ADDED","object":"');
      more();
    }),
    ...["get", "pods", "-w", "-o", "name"],
  );
  assert.equal(code, 1);
  assert.match(stderr, /an event that is too large/);
});

test("a server that sends the same page for ever is told of", async () => {
  const page = { kind: "PodList", apiVersion: "v1", metadata: { continue: "again" }, items: [] };
  const { code, stderr, requests } = await asked(
    serving((_request, response) => json(response, page)),
    ...["get", "pods", "-o", "name"],
  );
  assert.equal(code, 1);
  assert.match(stderr, /the server sends the same part of the list of pods again and again/);
  assert.equal(requests.filter((path) => path.includes("continue=")).length, 1);
});

/** In the place of whatever was asked for. */
const lies: readonly unknown[] = [
  null,
  5,
  "text",
  [],
  {},
  { kind: "PodList", items: null },
  { kind: "PodList", items: 5 },
  { kind: "PodList", items: [null, 7, "x", [], {}] },
  { kind: "PodList", metadata: "x", items: [{ metadata: null, spec: null, status: 5 }] },
  { kind: "Table", apiVersion: "meta.k8s.io/v1" },
  { kind: "Table", apiVersion: "meta.k8s.io/v1", columnDefinitions: null, rows: [null, { cells: null }, { cells: 1 }] },
  {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    columnDefinitions: [null, 1, { name: 5 }],
    rows: [{ cells: [null, {}] }],
  },
  {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    columnDefinitions: [{ name: "A" }],
    rows: [{ cells: [1, 2], object: 5 }],
  },
  { kind: "Status", code: "x", message: {}, details: [] },
  { kind: "Pod", metadata: { name: 5, labels: 3, annotations: [], ownerReferences: {} }, spec: { containers: 5 } },
  { kind: "Pod", metadata: { name: "p" }, spec: { containers: [null, 5, {}] }, status: { conditions: 3 } },
  { kind: "Deployment", metadata: { name: "d" }, spec: { template: 5, selector: [] }, status: { replicas: "x" } },
];
const lines = [
  ["get", "pods"],
  ["get", "pods", "-o", "yaml"],
  ["get", "pods", "-o", "wide", "-L", "a", "--sort-by=.metadata.name"],
  ["get", "pods", "-o", "custom-columns=A:.metadata.name"],
  ["get", "pod", "p", "--show-labels"],
  ["describe", "pod", "p"],
  ["describe", "deployment", "d"],
  ["rollout", "status", "deployment/d", "--watch=false"],
  ["rollout", "history", "deployment/d"],
  ["label", "pod", "p", "a=b"],
  ["scale", "deployment", "d", "--replicas=2"],
  ["delete", "pod", "p", "--wait=false"],
  ["logs", "p"],
  ["version"],
  ["auth", "can-i", "get", "pods"],
  ["get", "pods", "--tree"],
] as const;

/** Words of ours that are no words for a person. */
const slip =
  /TypeError|RangeError|is not (iterable|a function|an object)|Cannot (read|convert|set)|undefined is|\[object /;

test("no lie in the place of an object makes a command stumble", async () => {
  const stumbles: string[] = [];
  for (const lie of lies)
    for (const line of lines) {
      const { stderr } = await asked(
        serving((_request, response) => json(response, lie)),
        ...line,
      );
      if (slip.test(stderr)) stumbles.push(`${line.join(" ")} with ${JSON.stringify(lie)}: ${stderr}`);
    }
  assert.deepEqual(stumbles, []);
});

test("no lie about what is served makes a command stumble", async () => {
  const stumbles: string[] = [];
  const entry = (resources: unknown) => ({
    ...discovery("", "v1"),
    items: [{ metadata: {}, versions: [{ version: "v1", resources }] }],
  });
  const told: readonly unknown[] = [
    ...lies,
    entry(null),
    entry([null, 5, {}, { resource: 5 }]),
    entry([{ resource: "pods", responseKind: 5, verbs: 7, shortNames: "x", subresources: [null, 3] }]),
    { ...discovery("", "v1"), items: [null, 5, { metadata: 3, versions: 4 }] },
    { kind: "APIVersions", versions: [null, 5] },
    { kind: "APIGroupList", groups: [null, 5, { name: 3, versions: [null], preferredVersion: 5 }] },
    { kind: "APIResourceList", resources: [null, 5, { name: 3 }, { name: "pods", verbs: 5 }] },
  ];
  for (const lie of told)
    for (const line of [["get", "pods"], ["api-resources"], ["api-versions"], ["explain", "pods"]]) {
      const { stderr } = await asked((_request, response) => json(response, lie), ...line);
      if (slip.test(stderr)) stumbles.push(`${line.join(" ")} with ${JSON.stringify(lie)}: ${stderr}`);
    }
  assert.deepEqual(stumbles, []);
});
