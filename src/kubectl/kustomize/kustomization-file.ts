// The file that says what a kustomization is made of (upstream: kustomize/api/types/kustomization.go).
import { isObject } from "#base/is-object.ts";
import { DecodeError } from "#schema/json.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { KubectlError } from "../errors.ts";
import { fileNames, type KustomizeFolder } from "./kustomize-files.ts";
import type { Section } from "./sections.ts";

/** What we read. */
const knownFields = new Set([
  ...["apiVersion", "kind", "metadata", "resources", "bases", "components", "namespace", "namePrefix", "nameSuffix"],
  ...["commonLabels", "labels", "commonAnnotations", "patches", "patchesStrategicMerge", "patchesJson6902", "images"],
  ...[
    "replicas",
    "replacements",
    "configMapGenerator",
    "secretGenerator",
    "generatorOptions",
    "sortOptions",
    "buildMetadata",
  ],
]);
/** What kustomize reads and we do not, and why. */
const refusedFields: Readonly<Record<string, string>> = {
  helmCharts: "charts are not inflated here; run helm template and list its output as a resource",
  helmChartInflationGenerator: "charts are not inflated here; run helm template and list its output as a resource",
  helmGlobals: "charts are not inflated here; run helm template and list its output as a resource",
  vars: "vars are not expanded; use replacements",
  generators: "generators other than configMapGenerator and secretGenerator are not run",
  transformers: "transformers other than the built-in ones are not run",
  validators: "validators are not run",
  configurations: "configurations of transformers are not read",
  crds: "schemas of custom resources are not read",
  openapi: "schemas other than the built-in ones are not read",
};

const deprecated: readonly (readonly [string, string])[] = [
  ["bases", "'bases' is deprecated. Please use 'resources' instead."],
  ["commonLabels", "'commonLabels' is deprecated. Please use 'labels' instead."],
  ["imageTags", "'imageTags' is deprecated. Please use 'images' instead."],
  ["patchesJson6902", "'patchesJson6902' is deprecated. Please use 'patches' instead."],
  ["patchesStrategicMerge", "'patchesStrategicMerge' is deprecated. Please use 'patches' instead."],
];

export interface KustomizationFile {
  readonly section: Section;
  readonly isComponent: boolean;
}

/** Throws KubectlError. Warnings about old fields go to `warn`. */
export function readKustomization(folder: KustomizeFolder, warn: (text: string) => void): KustomizationFile {
  const found = fileNames.filter((name) => folder.has(name));
  const [name, second] = found;
  if (name === undefined)
    throw new KubectlError(
      `unable to find one of ${fileNames
        .slice(0, -1)
        .map((one) => `'${one}'`)
        .join(", ")} or '${fileNames.at(-1)}' in directory '${folder.root}'`,
    );
  if (second !== undefined) throw new KubectlError(`Found multiple kustomization files under: ${folder.root}\n`);
  const text = folder.read(name).toString("utf8");
  let value: unknown;
  try {
    value = parseYaml(text).exactValue();
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    throw new KubectlError(`invalid Kustomization: ${cause.message}`, { cause });
  }
  if (value === null || value === undefined || (isObject(value) && Object.keys(value).length === 0))
    throw new KubectlError("kustomization.yaml is empty");
  if (!isObject(value)) throw new KubectlError("invalid Kustomization: it is no object");
  for (const field of Object.keys(value)) {
    const why = refusedFields[field];
    if (why !== undefined) throw new KubectlError(`${field} in ${folder.root}/${name}: ${why}`);
    if (!knownFields.has(field))
      throw new KubectlError(`invalid Kustomization: json: unknown field ${JSON.stringify(field)}`);
  }
  for (const [field, text] of deprecated)
    if (Object.hasOwn(value, field))
      warn(`# Warning: ${text} Run 'kustomize edit fix' to update your Kustomization automatically.`);
  return checked(value, folder.root);
}

function checked(value: Section, root: string): KustomizationFile {
  const { kind = "Kustomization", apiVersion } = value;
  const isComponent = kind === "Component";
  const problems: string[] = [];
  if (!isComponent && kind !== "Kustomization") problems.push("kind should be Kustomization or Component");
  const wanted = isComponent ? "kustomize.config.k8s.io/v1alpha1" : "kustomize.config.k8s.io/v1beta1";
  if (apiVersion !== undefined && apiVersion !== wanted)
    problems.push(`apiVersion for ${String(kind)} should be ${wanted}`);
  if (problems.length > 0)
    throw new KubectlError(`Failed to read kustomization file under ${root}:\n${problems.join("\n")}`);
  return { section: value, isComponent };
}
