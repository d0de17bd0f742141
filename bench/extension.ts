// Custom resource definitions in a burst, and custom resources against ConfigMaps of the same size, in one process without a network.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { measurePolicy, measureWebhook } from "./extension/admission.ts";
import { inLanes, median, type Report } from "./figure.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const burst = 500;
const objects = 10_000;
const rounds = 5;

export async function run(report: Report): Promise<void> {
  await measureBurst(report);
  await measureObjects(report);
  await measurePolicy(report);
  await measureWebhook(report);
}

/** A definition about as large as those of operators: some dozen fields, with descriptions. */
const definition = (i: number) => {
  const text = (name: string) => ({
    type: "string",
    maxLength: 200,
    description: `What the ${name} of a thing is, and what becomes of the thing if it is left out or cannot be read.`,
  });
  const properties = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`field${n}`, text(`field ${n}`)]));
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things${i}.bench.example` },
    spec: {
      group: "bench.example",
      scope: "Namespaced",
      names: { plural: `things${i}`, kind: `Thing${i}` },
      versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
};

const started = () => testServer({ protect: (object) => object });

async function measureBurst(report: Report): Promise<void> {
  await using server = await started();
  await install(server, definition(burst)); // compiles what the first definition needs
  const heap = await heapUsed();
  const generation = server.server.apis.generation;
  const waits: number[] = [];
  const begun = performance.now();
  let isOver = false;
  const discovering = (async () => {
    while (!isOver) {
      const asked = performance.now();
      await server.call("GET", "/apis");
      waits.push(performance.now() - asked);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  await inLanes(burst, (i) => server.call("POST", definitions, definition(i)));
  await establishedAll(server, burst + 1);
  const seconds = (performance.now() - begun) / 1000;
  isOver = true;
  await discovering;
  report({ name: `${burst} definitions until all are established`, value: seconds, unit: "s", goal: { atMost: 20 } });
  const changes = server.server.apis.generation - generation;
  report({ name: "changes of what is served", value: changes, unit: "", goal: { atMost: burst / 4 } });
  const p99 = waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0;
  report({ name: "discovery meanwhile, 99th of 100", value: p99, unit: "ms", goal: { atMost: 250 } });
  const each = ((await heapUsed()) - heap) / burst / 1024;
  report({ name: "memory of an idle definition", value: each, unit: "KiB", goal: { atMost: 120 } });
  const asked = performance.now();
  await server.call("GET", "/openapi/v3/apis/bench.example/v1");
  report({ name: "OpenAPI of the group, made when it is asked for", value: performance.now() - asked, unit: "ms" });
}

async function install(server: TestServer, one: ReturnType<typeof definition>): Promise<void> {
  const { code, text } = await server.call("POST", definitions, one);
  if (code !== 201) throw new Error(text);
  await establishedAll(server, 1);
}

async function establishedAll(server: TestServer, count: number): Promise<void> {
  for (;;) {
    const { json } = await server.call("GET", definitions);
    const isEstablished = ({ status }: { status: { conditions?: { type: string; status: string }[] } }) =>
      status.conditions?.some(({ type, status: is }) => type === "Established" && is === "True");
    if (json.items.filter(isEstablished).length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function heapUsed(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
}

const data = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`field${i}`, "x".repeat(40)]));
const contenders = {
  map: {
    path: "/api/v1/namespaces/bench/configmaps",
    object: (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data }),
  },
  custom: {
    path: "/apis/bench.example/v1/namespaces/bench/things0",
    object: (name: string) => ({ apiVersion: "bench.example/v1", kind: "Thing0", metadata: { name }, spec: data }),
  },
} as const;
type Contender = keyof typeof contenders;
const names = Object.keys(contenders) as readonly Contender[];

async function measureObjects(report: Report): Promise<void> {
  await using server = await started();
  await install(server, definition(0));
  const times = { create: timesOf(), list: timesOf(), watch: timesOf() };
  const share = objects / rounds;
  for (let round = 0; round < rounds; round++)
    for (const name of names) {
      const { path, object } = contenders[name];
      const create = (i: number) => server.call("POST", path, object(`o-${round}-${i}`));
      times.create[name].push(await timed(() => inLanes(share, create)));
    }
  for (let round = 0; round < rounds; round++)
    for (const name of names) {
      const { path } = contenders[name];
      times.list[name].push(await timed(() => server.call("GET", path)));
      times.watch[name].push(await timed(() => watchAll(server, path)));
    }
  for (const [verb, least] of [
    ["create", 0.5],
    ["list", 0.8],
    ["watch", 0.8],
  ] as const) {
    const value = median(times[verb].map) / median(times[verb].custom);
    report({ name: `${verb}: rate of that of ConfigMaps`, value, unit: "", goal: { atLeast: least } });
  }
}

const timesOf = (): Record<Contender, number[]> => ({ map: [], custom: [] });

/** Processor time: what else the machine does does not count. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function watchAll(server: TestServer, path: string): Promise<void> {
  const stop = new AbortController();
  const events = await server.watch(`${path}?watch=1&resourceVersion=0`, stop.signal);
  for (let seen = 0; seen < objects; seen++) await events.next();
  stop.abort(new Error("seen"));
}
