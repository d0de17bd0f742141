// Upstream: kubectl/pkg/cmd/apiresources/apiresources.go.
import { printYaml } from "#wire/yaml/write.ts";
import { command } from "../command.ts";
import type { DiscoveredApis } from "../discovery/discovery.ts";
import { type ServerResource, splitGroupVersion } from "../discovery/server-resource.ts";
import { KubectlError, usageError } from "../errors.ts";
import type { ParsedFlags } from "../flags.ts";
import { tableText } from "../tab-writer.ts";

const flags = {
  "api-group": { type: "string", help: "Only resources of this group." },
  cached: { type: "bool", help: "Do not ask the server if the list is remembered." },
  categories: { type: "stringSlice", help: "Only resources of these categories." },
  namespaced: {
    type: "bool",
    default: true,
    help: "With false, only resources outside of namespaces; with true, only those inside.",
  },
  "no-headers": { type: "bool", help: "Leave out the headers." },
  output: { type: "string", short: "o", help: "One of json, yaml, name, wide." },
  "show-managed-fields": { type: "bool", help: "Keep managedFields in JSON and YAML." },
  "sort-by": { type: "string", help: "Sort by name or by kind; by group and name unless given." },
  verbs: { type: "stringSlice", help: "Only resources that can do all of these." },
} as const;

interface ServedResource extends ServerResource {
  readonly group: string;
  readonly version: string;
}

export const apiResources = command({
  use: "api-resources",
  examples:
    "# All resources with more about them\nkubectl api-resources -o wide\n\n# Resources that can be listed, sorted by name\nkubectl api-resources --verbs=list --sort-by=name",
  flags,
  async run(session, args, flags, { changed, commandPath }) {
    if (args.length > 0) throw usageError(`unexpected arguments: [${args.join(" ")}]`, commandPath);
    const { "sort-by": sortBy, output } = flags;
    if (!["", "json", "yaml", "name", "wide"].includes(output))
      throw new KubectlError(
        `unable to match a printer suitable for the output format ${JSON.stringify(output)}, allowed formats are: json,name,wide,yaml`,
      );
    if (!["", "name", "kind"].includes(sortBy)) throw new KubectlError("--sort-by accepts only name or kind");
    const discovery = await session.discovery();
    if (!flags.cached) discovery.invalidate();
    const apis = await discovery.apis();
    const wanted = preferredResources(apis).filter((one) => isWanted(one, flags, changed));
    const key = (one: ServedResource) => (sortBy === "name" ? one.name : sortBy === "kind" ? one.kind : one.group);
    const sorted = wanted.toSorted((a, b) => compare(key(a), key(b)) || compare(a.name, b.name));
    session.io.stdout.write(printed(sorted, output, flags["no-headers"]));
    if (apis.failures.size > 0) throw discoveryFailed(apis);
  },
});

function isWanted(
  one: ServedResource,
  flags: ParsedFlags<typeof apiResources.flags & object>,
  changed: ReadonlySet<string>,
): boolean {
  if (one.verbs.length === 0) return false;
  if (changed.has("api-group") && flags["api-group"] !== one.group) return false;
  if (changed.has("namespaced") && flags.namespaced !== one.namespaced) return false;
  return (
    flags.verbs.every((verb) => one.verbs.includes(verb)) &&
    flags.categories.every((name) => one.categories?.includes(name))
  );
}

/** Each resource once: in the preferred version of its group if that has it. */
export function preferredResources({ groups, resources }: DiscoveredApis): readonly ServedResource[] {
  return groups.flatMap(({ versions, preferredVersion }) => {
    const found = new Map<string, ServedResource>();
    for (const { groupVersion } of [preferredVersion, ...versions])
      for (const entry of resources.get(groupVersion)?.resources ?? [])
        if (!entry.name.includes("/") && !found.has(entry.name))
          found.set(entry.name, { ...entry, ...splitGroupVersion(groupVersion) });
    return [...found.values()];
  });
}

function printed(resources: readonly ServedResource[], output: string, isHeadless: boolean): string {
  const nameOf = ({ name, group }: ServedResource) => (group === "" ? name : `${name}.${group}`);
  const list = { kind: "APIResourceList", apiVersion: "v1", groupVersion: "", resources };
  switch (output) {
    case "name":
      return resources.map((one) => `${nameOf(one)}\n`).join("");
    case "json":
      return `${JSON.stringify(list, undefined, 4)}\n`;
    case "yaml":
      return printYaml(list);
  }
  const isWide = output === "wide";
  const rows = resources.map(({ name, shortNames = [], group, version, namespaced, kind, verbs, categories = [] }) => [
    name,
    shortNames.join(","),
    group === "" ? version : `${group}/${version}`,
    String(namespaced),
    kind,
    ...(isWide ? [verbs.join(","), categories.join(",")] : []),
  ]);
  const head = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", ...(isWide ? ["VERBS", "CATEGORIES"] : [])];
  return tableText(isHeadless ? rows : [head, ...rows]);
}

/** Some groups could not be told of. */
export function discoveryFailed({ failures }: DiscoveredApis): KubectlError {
  const texts = [...failures].map(([groupVersion, { message }]) => `${groupVersion}: ${message}`).sort();
  return new KubectlError(`unable to retrieve the complete list of server APIs: ${texts.join(", ")}`);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
