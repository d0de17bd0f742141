// What it costs to know what a kind is: decoding, defaulting, checking and encoding a pod, and loading the catalog.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { Pod } from "#api/core/v1/pod.ts";
import { decodeText } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { problemText } from "#schema/problem.ts";
import { decodeMessage, encodeMessage } from "#schema/protobuf/codec.ts";
import { listStruct } from "#schema/protobuf/list.ts";
import { validateObject } from "#schema/validate.ts";
import { compare, type Report } from "./figure.ts";

export async function run(report: Report): Promise<void> {
  const text = JSON.stringify(pod("bench-x7k2p"));
  const accept = () => {
    const { object } = decodeText(Pod, text);
    applyDefaults(Pod, object);
    const problems = validateObject(Pod, object);
    if (problems.length > 0) throw new Error(problems.map(problemText).join("; "));
    return JSON.stringify(object);
  };
  const { bare, whole } = compare({ bare: () => JSON.stringify(JSON.parse(text)), whole: accept });
  report({ name: "JSON.parse + JSON.stringify of a pod", value: bare, unit: "µs" });
  report({ name: "decode + default + validate + encode of a pod", value: whole, unit: "µs" });
  report({ name: "the same as a multiple of bare JSON", value: whole / bare, unit: "×", goal: { atMost: 6 } });

  const list = {
    metadata: { resourceVersion: "1" },
    items: Array.from({ length: 5000 }, (_, i) => stored(`bench-${i}`)),
  };
  const PodList = listStruct(Pod);
  const lists = compare(
    {
      json: () => JSON.parse(JSON.stringify(list)),
      protobuf: () => decodeMessage(PodList, encodeMessage(PodList, list)),
    },
    { rounds: 7, roundMs: 1, warmMs: 1000 },
  );
  report({ name: "JSON of a list of 5,000 pods, to text and back", value: lists.json / 1000, unit: "ms" });
  report({ name: "protobuf of the same list, to bytes and back", value: lists.protobuf / 1000, unit: "ms" });
  const goal = { atMost: 3 };
  report({ name: "protobuf as a multiple of JSON", value: lists.protobuf / lists.json, unit: "×", goal });

  const { ms, mib } = catalogCost();
  report({ name: "loading the whole catalog", value: ms, unit: "ms", goal: { atMost: 60 } });
  report({ name: "memory of the catalog before first use", value: mib, unit: "MiB", goal: { atMost: 25 } });
}

const stored = (name: string) => applyDefaults(Pod, decodeText(Pod, JSON.stringify(pod(name))).object);

/** The pod of the load generator that other servers are measured with. */
export const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "bench", labels: { app: "bench", tier: "web", "pod-template-hash": "7d4f8c9b5d" } },
  spec: {
    containers: [
      {
        name: "web",
        image: "nginx:1.25",
        ports: [{ containerPort: 80 }],
        env: [
          { name: "A", value: "1" },
          { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        ],
        resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "500m", memory: "256Mi" } },
        livenessProbe: { httpGet: { path: "/healthz", port: 80 }, periodSeconds: 10 },
        readinessProbe: { httpGet: { path: "/ready", port: 80 }, periodSeconds: 5 },
        volumeMounts: [{ name: "config", mountPath: "/etc/config" }],
      },
    ],
    volumes: [{ name: "config", configMap: { name: "app-config" } }],
  },
});

/** Loads the catalog as the launcher does, from one bundle, each time in a new process; the middle of five. */
function catalogCost(): { ms: number; mib: number } {
  const folder = mkdtempSync(join(tmpdir(), "knarr-bench-"));
  try {
    const bundle = join(folder, "catalog.mjs");
    buildSync({
      entryPoints: ["src/api/catalog.ts"],
      outfile: bundle,
      bundle: true,
      platform: "node",
      format: "esm",
      packages: "external",
    });
    const probe = join(folder, "probe.mjs");
    writeFileSync(
      probe,
      `gc(); const rss = process.memoryUsage.rss(); const start = process.cpuUsage();
       await import(${JSON.stringify(bundle)});
       const { user, system } = process.cpuUsage(start); const ms = (user + system) / 1000; gc();
       console.log(JSON.stringify({ ms, mib: (process.memoryUsage.rss() - rss) / 2 ** 20 }));`,
    );
    const runs = Array.from({ length: 5 }, () =>
      JSON.parse(execFileSync(process.execPath, ["--expose-gc", probe], { encoding: "utf8" })),
    );
    const middle = (field: "ms" | "mib") =>
      runs.map((one) => one[field] as number).toSorted((a, b) => a - b)[2] as number;
    return { ms: middle("ms"), mib: middle("mib") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
