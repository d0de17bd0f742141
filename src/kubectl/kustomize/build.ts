// A kustomization as manifests (upstream: kustomize/api/internal/target/kusttarget.go).
import { isObject } from "#base/is-object.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { KubectlError } from "../errors.ts";
import type { Io } from "../io.ts";
import { manifestDocuments } from "../resources/manifest-files.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import { runGenerators } from "./generators.ts";
import { changeImages } from "./images.ts";
import { readKustomization } from "./kustomization-file.ts";
import { KustomizeFolder } from "./kustomize-files.ts";
import { KustomizeResource } from "./kustomize-resource.ts";
import { runJsonPatches, runPatches } from "./patches.ts";
import { addHashes, fixReferences } from "./references.ts";
import { runReplacements } from "./replacements.ts";
import { type Section, textsIn } from "./sections.ts";
import { sorted } from "./sort.ts";
import { addAffixes, addAnnotations, addLabels, isLocal, setNamespaces, setReplicas } from "./transformers.ts";

/** The manifests of a folder, as YAML. Throws KubectlError. */
export function buildKustomization({ cwd, stderr }: Io, path: string): string {
  const folder = KustomizeFolder.open(path, cwd);
  const build = new KustomizeBuild((text) => stderr.write(`${text}\n`));
  return build
    .run(folder)
    .map(({ object }) => printYaml(object))
    .join("---\n");
}

class KustomizeBuild {
  readonly #warn: (text: string) => void;

  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  run(folder: KustomizeFolder): readonly KustomizeResource[] {
    const { section } = readKustomization(folder, this.#warn);
    const resources: KustomizeResource[] = [];
    this.#accumulate(resources, section, folder);
    addHashes(resources);
    fixReferences(resources);
    return sorted(
      resources.filter((one) => !isLocal(one)),
      section,
    );
  }

  #accumulate(resources: KustomizeResource[], file: Section, folder: KustomizeFolder): void {
    for (const path of [...textsIn(file, "resources"), ...textsIn(file, "bases")])
      within("accumulating resources", () => this.#resource(resources, path, folder));
    runGenerators(resources, file, folder);
    for (const path of textsIn(file, "components"))
      within("accumulating components", () => this.#component(resources, path, folder));
    runPatches(resources, file, folder);
    setNamespaces(resources, file);
    addAffixes(resources, file);
    addLabels(resources, file);
    addAnnotations(resources, file);
    runJsonPatches(resources, file, folder);
    setReplicas(resources, file);
    changeImages(resources, file);
    runReplacements(resources, file, folder);
  }

  #resource(resources: KustomizeResource[], path: string, folder: KustomizeFolder): void {
    const from = (why: string) => `accumulation err='accumulating resources from '${path}': ${why}'`;
    if (folder.isFolder(path)) {
      const root = folder.pathOf(path);
      const below: KustomizeResource[] = [];
      within(from(`'${root}' must resolve to a file`), () => this.#recurse(below, folder, path, false));
      for (const one of below) append(resources, one);
      return;
    }
    let text: string;
    try {
      text = folder.read(path).toString("utf8");
    } catch (cause) {
      if (!(cause instanceof KubectlError)) throw cause;
      const isMissing = !folder.has(path);
      throw new KubectlError(
        `${from(cause.message)}${isMissing ? `: must build at directory: not a valid directory: ${cause.message}` : ""}`,
        { cause },
      );
    }
    for (const document of manifestDocuments(text, path))
      for (const object of flattened(document, path)) append(resources, new KustomizeResource(object));
  }

  /** A component works on what is there already. */
  #component(resources: KustomizeResource[], path: string, folder: KustomizeFolder): void {
    try {
      this.#recurse(resources, folder, path, true);
    } catch (cause) {
      if (!(cause instanceof KubectlError)) throw cause;
      throw new KubectlError(`accumulateDirectory: ${JSON.stringify(cause.message)}`, { cause });
    }
  }

  #recurse(resources: KustomizeResource[], folder: KustomizeFolder, path: string, wantsComponent: boolean): void {
    const inner = folder.folder(path);
    const { section, isComponent } = within(`couldn't make target for path '${inner.root}'`, () =>
      readKustomization(inner, this.#warn),
    );
    if (isComponent !== wantsComponent)
      throw new KubectlError(`expected kind ${wantsComponent ? "==" : "!="} 'Component' for path '${inner.root}'`);
    within(`recursed accumulation of path '${inner.root}'`, () => this.#accumulate(resources, section, inner));
  }
}

/** Errors say how one got there. */
function within<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof KubectlError)) throw cause;
    throw new KubectlError(`${what}: ${cause.message}`, { cause });
  }
}

function flattened(document: unknown, path: string): readonly KubeObject[] {
  if (!isObject(document)) throw new KubectlError(`${path} has a document that is no object`);
  const object = document as KubeObject;
  if (stringIn(object.kind).endsWith("List") && Array.isArray(object.items))
    return object.items.flatMap((item) => flattened(item, path));
  if (stringIn(object.kind) === "") throw new KubectlError(`missing metadata.name or kind in object of ${path}`);
  if (stringIn(metadataOf(object).name) === "" && metadataOf(object).generateName === undefined)
    throw new KubectlError(
      `missing metadata.name in object {{${stringIn(object.apiVersion)} ${stringIn(object.kind)}} {{ } map[] map[]}}`,
    );
  return [object];
}

function append(resources: KustomizeResource[], added: KustomizeResource): void {
  const isSame = (one: KustomizeResource) =>
    one.kind === added.kind &&
    one.group === added.group &&
    one.name === added.name &&
    one.namespace === added.namespace;
  if (resources.some(isSame))
    throw new KubectlError(`may not add resource with an already registered id: ${added.label}`);
  resources.push(added);
}
