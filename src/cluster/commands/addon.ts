import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { UsageError } from "#base/errors.ts";
import { aligned } from "#cli/aligned.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import type { Client } from "#client/client.ts";
import { addonNamed, addons, addonsConfigMap } from "../addons/list.ts";
import { readManifest } from "../addons/manifests.ts";
import { connectionFlags, withCluster } from "../cluster-connection.ts";

const { namespace: _, ...flags } = connectionFlags;
const verbs = { enable: "enabled", disable: "disabled" } as const;

export const addon: Command = {
  use: "addon list | enable NAME | disable NAME [FLAGS]",
  help: [
    "Add-ons are manifests that the cluster keeps applied, and that run as pods with images made of knarr's own sources. Which a cluster",
    "has is in the ConfigMap addons of kube-system, so a change takes effect at once and stays.",
    "",
    "What a manifest labels addonmanager.kubernetes.io/mode=Reconcile is put right again when somebody changes it; whoever wants to keep",
    "an object as it is labels it EnsureExists. To disable an add-on removes all of its objects.",
    "",
    ...aligned(addons.map(({ name, short, isDefault }) => [`  ${name}`, `${short}${isDefault ? " (default)" : ""}`])),
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr addon list",
    "  knarr addon disable dns --name=test",
  ].join("\n"),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    const [verb, name, ...more] = rest;
    if (verb === "list" && name === undefined) {
      print(await withCluster(settings, ({ client }) => table(client)));
      return;
    }
    if ((verb !== "enable" && verb !== "disable") || name === undefined || more.length > 0)
      throw new UsageError("addon takes list, enable NAME or disable NAME");
    const known = addonNamed(name);
    await withCluster(settings, async ({ client }) => {
      await choicesIn(client);
      await client.patch(ConfigMap, addonsConfigMap, "merge", { data: { [known.name]: verbs[verb] } });
    });
    print(`add-on ${known.name} is ${verbs[verb]}`);
  },
};

async function choicesIn(client: Client): Promise<Readonly<Record<string, string>>> {
  const found = await client.find(ConfigMap, addonsConfigMap);
  if (!found)
    throw new Error(
      "this cluster keeps no add-ons: its nodes are simulated, or it is not ready yet, or it is not knarr's",
    );
  return found.data ?? {};
}

async function table(client: Client): Promise<string> {
  const choices = await choicesIn(client);
  const rows: (readonly string[])[] = [["NAME", "STATE", "READY", "WHAT IT DOES"]];
  for (const { name, short, manifest, images } of addons) {
    const isEnabled = choices[name] === "enabled";
    const ready = isEnabled ? await readiness(client, manifest, Object.keys(images)) : "-";
    rows.push([name, isEnabled ? "enabled" : "disabled", ready, short]);
  }
  return aligned(rows).join("\n");
}

/** Pods that are ready, of those there are to be. */
async function readiness(client: Client, manifest: string, images: readonly string[]): Promise<string> {
  const values = new Proxy<Record<string, string>>(Object.fromEntries(images.map((name) => [name, "none"])), {
    get: (known, name) => known[String(name)] ?? "0",
  });
  let [ready, wanted] = [0, 0];
  for (const { kind, object } of readManifest(manifest, values)) {
    const { namespace = "", name = "" } = object.metadata;
    if (kind === Deployment) {
      const found = await client.find(Deployment, { namespace, name });
      ready += found?.status.readyReplicas ?? 0;
      wanted += found?.spec.replicas ?? 0;
    } else if (kind === DaemonSet) {
      const found = await client.find(DaemonSet, { namespace, name });
      ready += found?.status.numberReady ?? 0;
      wanted += found?.status.desiredNumberScheduled ?? 0;
    }
  }
  return `${ready}/${wanted}`;
}
