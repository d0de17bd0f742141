// Upstream: kubectl/pkg/cmd/kustomize.
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import { buildKustomization } from "../kustomize/build.ts";

/** Flags of kustomize that ask for what is not here. */
const refused = ["enable-helm", "enable-alpha-plugins", "helm-command", "network", "mount", "env", "as-current-user"];

export const kustomize = command({
  use: "kustomize DIR",
  long: "Print the manifests that a folder with a kustomization.yaml is made of: resources, patches, generators, components and replacements, and changes of names, namespaces, labels, annotations, images and replicas. Charts and what is on other machines are not fetched.",
  examples: `  # The manifests of this folder
  kubectl kustomize

  # Those of another one, into files
  kubectl kustomize overlays/production -o out/`,
  flags: {
    "as-current-user": { type: "bool", help: "Not supported: plugins are not run." },
    "enable-alpha-plugins": { type: "bool", help: "Not supported: plugins are not run." },
    "enable-helm": { type: "bool", help: "Not supported: charts are not inflated." },
    env: { type: "stringArray", short: "e", help: "Not supported: plugins are not run." },
    "helm-api-versions": { type: "stringArray", help: "Not supported: charts are not inflated." },
    "helm-command": { type: "string", default: "helm", help: "Not supported: charts are not inflated." },
    "helm-debug": { type: "bool", help: "Not supported: charts are not inflated." },
    "helm-kube-version": { type: "string", help: "Not supported: charts are not inflated." },
    "load-restrictor": { type: "string", default: "LoadRestrictionsRootOnly", help: "Only LoadRestrictionsRootOnly." },
    mount: { type: "stringArray", help: "Not supported: plugins are not run." },
    network: { type: "bool", help: "Not supported: plugins are not run." },
    "network-name": { type: "string", default: "bridge", help: "Not supported: plugins are not run." },
    output: { type: "string", short: "o", help: "Write to this file, or into this folder one file for each object." },
  },
  run: async (session, args, flags, { changed }) => {
    if (args.length > 1) throw new KubectlError("specify one path to kustomization.yaml");
    const asked = refused.find((flag) => changed.has(flag));
    if (asked !== undefined) throw new KubectlError(`--${asked} is not supported: charts and plugins are not run`);
    if (flags["load-restrictor"] !== "LoadRestrictionsRootOnly")
      throw new KubectlError(
        `illegal flag value --load-restrictor ${flags["load-restrictor"]}; only LoadRestrictionsRootOnly is supported`,
      );
    const text = buildKustomization(session.io, args[0] ?? ".");
    if (flags.output === "") {
      session.io.stdout.write(text);
      return;
    }
    const place = resolve(session.io.cwd, flags.output);
    if (!statSync(place, { throwIfNoEntry: false })?.isDirectory()) return writeFileSync(place, text);
    mkdirSync(place, { recursive: true });
    for (const document of text.split(/^---\n/m)) {
      const field = (name: string) => new RegExp(`^ {0,2}${name}: "?([^"\\n]+)"?$`, "m").exec(document)?.[1] ?? "";
      const name = `${field("apiVersion").replace("/", "_")}_${field("kind")}_${field("name")}.yaml`.toLowerCase();
      writeFileSync(join(place, name), document);
    }
  },
});
