// The manifests of add-ons: YAML with a few values that are only known in a cluster.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { catalog } from "#api/catalog.ts";
import { gatewayKinds } from "#ingress/gateway/kinds.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { DraftObject } from "#schema/object.ts";
import { parseYamlDocuments } from "#wire/yaml/read.ts";

export interface ManifestObject {
  readonly kind: AnyKind;
  readonly object: DraftObject;
}

/** Those of add-ons are served only where the add-on is. */
const kinds: readonly AnyKind[] = [...catalog, ...gatewayKinds];

export type ManifestValues = Readonly<Record<string, string | number>>;

/** The folder of the project, from the sources and from a bundle of them. */
export function projectFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder))
    if (existsSync(join(folder, "tools", "addon-image.ts"))) return folder;
  throw new Error(`${import.meta.dirname} is in no folder that has the manifests of add-ons`);
}

export const readManifest = (file: string, values: ManifestValues): readonly ManifestObject[] =>
  parseManifest(readFileSync(join(projectFolder(), "manifests", file), "utf8"), values);

/** Throws an error for a value that is not given, and for a kind that there is not. */
export function parseManifest(text: string, values: ManifestValues): readonly ManifestObject[] {
  const filled = text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`a manifest has the value \${${name}}, which nobody gives`);
    return String(value);
  });
  return parseYamlDocuments(filled)
    .map(({ value }) => value as DraftObject | null) // what it really is, the API server decides
    .filter((object) => object !== null)
    .map((object) => {
      const kind = kinds.find((one) => one.apiVersion === object.apiVersion && one.kind === object.kind);
      if (!kind) throw new Error(`a manifest has a ${object.kind} of ${object.apiVersion}, which there is not`);
      return { kind, object };
    });
}
