// Upstream: kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isObject } from "#base/is-object.ts";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import { outputPrinter, printFlags } from "../printers/output.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { specOf } from "../workloads/pods.ts";

/** What is dumped of a namespace, and the files it goes to. */
const parts = [
  ["events", "/api/v1", "events"],
  ["replication-controllers", "/api/v1", "replicationcontrollers"],
  ["services", "/api/v1", "services"],
  ["daemonsets", "/apis/apps/v1", "daemonsets"],
  ["deployments", "/apis/apps/v1", "deployments"],
  ["replicasets", "/apis/apps/v1", "replicasets"],
  ["pods", "/api/v1", "pods"],
] as const;

export const clusterInfoDump = command({
  use: "dump",
  long: "Dump what helps to find out why a cluster fails: nodes, and of some namespaces events, workloads, services, pods and their logs.",
  examples: `  # Everything of two namespaces, into files
  kubectl cluster-info dump --namespaces default,kube-system --output-directory=state`,
  flags: {
    ...printFlags,
    output: { ...printFlags.output, default: "json" },
    "all-namespaces": { type: "bool", short: "A", help: "Of all namespaces." },
    namespaces: { type: "stringSlice", help: "Of these namespaces; kube-system and the current one unless given." },
    "output-directory": { type: "string", help: "Where files go; to the standard output unless given." },
    "pod-running-timeout": { type: "duration", default: "20s", help: "How long to wait for a pod." },
  },
  run: async (session, _, flags) => {
    const printer = outputPrinter(flags, { operation: "", cwd: session.io.cwd });
    if (flags["pod-running-timeout"] <= 0n) throw new KubectlError("--pod-running-timeout must be higher than zero");
    const directory = flags["output-directory"] === "-" ? "" : flags["output-directory"];
    const extension = flags.output === "json" ? ".json" : flags.output === "yaml" ? ".yaml" : ".txt";
    const write = (file: string, data: string | Uint8Array) => {
      if (directory === "") return void session.io.stdout.write(data);
      const path = resolve(session.io.cwd, directory, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, data, { flag: "a" });
    };
    const client = await session.client();
    const dump = async (file: string, path: string): Promise<KubeObject> => {
      const list = typed(await client.json({ path }));
      printer.print(list, (data) => write(`${file}${extension}`, data));
      return list;
    };
    await dump("nodes", "/api/v1/nodes");
    const all = flags["all-namespaces"]
      ? itemsIn(await client.json({ path: "/api/v1/namespaces" })).map((one) => stringIn(metadataOf(one).name))
      : [];
    const usual = flags.namespaces.length > 0 ? flags.namespaces : ["kube-system", await session.namespace()];
    for (const namespace of flags["all-namespaces"] ? all : usual) {
      let pods: KubeObject = {};
      for (const [file, base, resource] of parts)
        pods = await dump(join(namespace, file), `${base}/namespaces/${namespace}/${resource}`);
      for (const pod of itemsIn(pods)) await dumpLogs(session, pod, namespace, write);
    }
    if (directory !== "") session.print(`Cluster info dumped to ${flags["output-directory"]}`);
  },
});

const itemsIn = ({ items }: KubeObject): readonly KubeObject[] =>
  Array.isArray(items) ? (items.filter(isObject) as KubeObject[]) : [];

/** Items of a list are printed without saying their kind, as the server sends them. */
const typed = (list: KubeObject): KubeObject => ({ ...list, items: list.items ?? [] });

async function dumpLogs(
  session: Session,
  pod: KubeObject,
  namespace: string,
  write: (file: string, data: string | Uint8Array) => void,
): Promise<void> {
  const client = await session.client();
  const name = stringIn(metadataOf(pod).name);
  const file = join(namespace, name, "logs.txt");
  for (const list of ["initContainers", "containers"]) {
    const containers = specOf(pod)[list];
    for (const container of Array.isArray(containers) ? containers.filter(isObject) : []) {
      const heading = `logs for container ${container.name} of pod ${namespace}/${name} ====\n`;
      write(file, `==== START ${heading}`);
      try {
        const path = `/api/v1/namespaces/${namespace}/pods/${name}/log`;
        write(file, await client.bytes({ path, query: [["container", stringIn(container.name)]] }));
      } catch (error) {
        if (!(error instanceof Error) || session.io.signal.aborted) throw error;
        write(file, `Request log error: ${error.message}\n`);
      }
      write(file, `==== END ${heading}`);
    }
  }
}
