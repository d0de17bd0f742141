// A named set of applied objects: its parent notes which kinds and namespaces have members, and members carry its id
// (upstream: kubectl/pkg/cmd/apply/applyset.go and applyset_pruner.go).
import { createHash } from "node:crypto";
import { kubernetesVersion } from "#api/release.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { apiVersionOf, type RestMapping } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
import {
  getInfo,
  metadataOf,
  type ResourceInfo,
  type ResourceWriteOptions,
  stringIn,
} from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import type { DryRun } from "../write-options.ts";
import { membersOf } from "./prune.ts";
import { sendApply } from "./server-side.ts";

const annotations = {
  tooling: "applyset.kubernetes.io/tooling",
  namespaces: "applyset.kubernetes.io/additional-namespaces",
  resources: "applyset.kubernetes.io/contains-group-resources",
  kinds: "applyset.kubernetes.io/contains-group-kinds",
} as const;
const idLabel = "applyset.kubernetes.io/id";
const memberLabel = "applyset.kubernetes.io/part-of";
const parentKindLabel = "applyset.kubernetes.io/is-parent-type";
const tool = "kubectl";
const toolVersion = kubernetesVersion;

type Texts = Readonly<Record<string, string>>;
const texts = (value: unknown): Texts => (isObject(value) ? (value as Texts) : {});

/** `Kind.group`, as annotations list kinds. */
const kindText = ({ kind, group }: RestMapping): string => (group === "" ? kind : `${kind}.${group}`);

export class ApplySet {
  readonly #session: Session;
  readonly #parent: ResourceInfo;
  readonly #mapping: RestMapping;
  /** What the parent noted before this apply. */
  #kinds = new Map<string, RestMapping>();
  #namespaces = new Set<string>();
  /** What this apply has. */
  readonly #newKinds = new Map<string, RestMapping>();
  readonly #newNamespaces = new Set<string>();

  private constructor(session: Session, mapping: RestMapping, name: string, namespace: string) {
    this.#session = session;
    this.#mapping = mapping;
    this.#parent = { mapping, name, namespace, source: "", object: undefined, subresource: "" };
  }

  /** The set that `--applyset` names: `NAME` of a secret, or `TYPE/NAME`. Throws KubectlError. */
  static async of(session: Session, reference: string): Promise<ApplySet> {
    const at = reference.indexOf("/");
    const [type, name] = at < 0 ? ["secrets", reference] : [reference.slice(0, at), reference.slice(at + 1)];
    const invalid = (why: string) => new KubectlError(`invalid parent reference ${JSON.stringify(reference)}: ${why}`);
    if (name === "") throw invalid("name cannot be blank");
    const mapping = await (await session.mapper()).mappingFor(type).catch((error: unknown) => {
      if (error instanceof KubectlError) throw invalid(`no matches for /, Resource=${type}`);
      throw error;
    });
    const isPlaced = mapping.isNamespaced && (await session.isNamespaceEnforced());
    return new ApplySet(session, mapping, name, isPlaced ? await session.namespace() : "");
  }

  get id(): string {
    const { name, namespace } = this.#parent;
    const { kind, group } = this.#mapping;
    const hash = createHash("sha256").update([name, namespace, kind, group].join(".")).digest("base64url");
    return `applyset-${hash}-v1`;
  }

  get #name(): string {
    return JSON.stringify(`${this.#mapping.resource}.${this.#mapping.group}/${this.#parent.name}`);
  }

  get #isBuiltIn(): boolean {
    const { group, version, resource } = this.#mapping;
    return group === "" && version === "v1" && ["secrets", "configmaps"].includes(resource);
  }

  /** Throws KubectlError if the parent cannot be one. */
  async validate(): Promise<void> {
    const problems: string[] = [];
    if (this.#mapping.isNamespaced && this.#parent.namespace === "")
      problems.push("namespace is required to use namespace-scoped ApplySet");
    if (!this.#isBuiltIn && !(await this.#parentKinds()).has(`${this.#mapping.resource}.${this.#mapping.group}`)) {
      const { group, version, resource } = this.#mapping;
      problems.push(`resource "${group}/${version}, Resource=${resource}" is not permitted as an ApplySet parent`);
    }
    if (problems.length > 0)
      throw new KubectlError(problems.length === 1 ? problems.join() : `[${problems.join(", ")}]`);
  }

  async #parentKinds(): Promise<ReadonlySet<string>> {
    const { items } = await (await this.#session.client()).json({
      path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      query: [["labelSelector", parentKindLabel]],
    });
    return new Set((Array.isArray(items) ? items : []).filter(isObject).map((item) => stringIn(metadataOf(item).name)));
  }

  /** The manifest with the label of a member. Throws KubectlError. */
  labelled(object: KubeObject): KubeObject {
    const metadata = metadataOf(object);
    const labels = texts(metadata.labels);
    if (Object.hasOwn(labels, memberLabel))
      throw new KubectlError(`ApplySet label ${JSON.stringify(memberLabel)} already set in input data`);
    return { ...object, metadata: { ...metadata, labels: { ...labels, [memberLabel]: this.id } } };
  }

  /** Notes at the parent what the set will have, besides what it has. */
  async begin(infos: readonly ResourceInfo[], dryRun: DryRun, options: ResourceWriteOptions): Promise<void> {
    await this.#fetchParent();
    for (const { mapping, namespace } of infos) {
      if (!mapping) continue;
      const key = kindText(mapping);
      if (!this.#newKinds.has(key)) this.#newKinds.set(key, mapping);
      if (mapping.isNamespaced && namespace !== "") this.#newNamespaces.add(namespace);
    }
    await this.#updateParent(
      [...this.#kinds.keys(), ...this.#newKinds.keys()],
      [...this.#namespaces, ...this.#newNamespaces],
      dryRun,
      options,
    );
  }

  /** Members that this apply did not mention. */
  async *leftovers(visitedUids: ReadonlySet<unknown>): AsyncGenerator<ResourceInfo> {
    const client = await this.#session.client();
    for (const mapping of this.#kinds.values())
      for (const namespace of mapping.isNamespaced ? this.#namespaces : [""])
        for (const object of await membersOf(client, mapping, namespace, `${memberLabel}=${this.id}`)) {
          const { name, uid } = metadataOf(object);
          if (!visitedUids.has(uid))
            yield { mapping, namespace, name: stringIn(name), source: "", object, subresource: "" };
        }
  }

  /** Notes at the parent what the set has, and nothing more. */
  async finish(dryRun: DryRun, options: ResourceWriteOptions): Promise<void> {
    try {
      await this.#updateParent([...this.#newKinds.keys()], [...this.#newNamespaces], dryRun, options);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw new KubectlError(`apply and prune succeeded, but ApplySet update failed: ${error.message}`, {
        cause: error,
      });
    }
  }

  async #fetchParent(): Promise<void> {
    let parent: KubeObject;
    try {
      parent = await getInfo(await this.#session.client(), this.#parent);
    } catch (error) {
      if (isNotFound(error)) {
        if (this.#isBuiltIn) return;
        throw new KubectlError("custom resource ApplySet parents cannot be created automatically", { cause: error });
      }
      if (!(error instanceof Error)) throw error;
      throw new KubectlError(`failed to fetch ApplySet parent object ${this.#name}: ${error.message}`, {
        cause: error,
      });
    }
    const noted = texts(metadataOf(parent).annotations);
    this.#checkOwner(noted, texts(metadataOf(parent).labels));
    this.#kinds = await this.#notedKinds(noted);
    this.#namespaces = new Set((noted[annotations.namespaces] ?? "").split(",").filter((one) => one !== ""));
    if (this.#mapping.isNamespaced) this.#namespaces.add(this.#parent.namespace);
  }

  #checkOwner(noted: Texts, labels: Texts): void {
    const tooling = noted[annotations.tooling];
    if (tooling === undefined)
      throw new KubectlError(
        `ApplySet parent object ${this.#name} already exists and is missing required annotation ${JSON.stringify(annotations.tooling)}`,
      );
    const owner = tooling.includes("/") ? tooling.slice(0, tooling.lastIndexOf("/")) : tooling;
    if (owner !== tool)
      throw new KubectlError(
        `ApplySet parent object ${this.#name} already exists and is managed by tooling ${JSON.stringify(owner)} instead of ${JSON.stringify(tool)}`,
      );
    const id = labels[idLabel];
    if (id === undefined)
      throw new KubectlError(`ApplySet parent object ${this.#name} exists and does not have required label ${idLabel}`);
    if (id !== this.id)
      throw new KubectlError(
        `ApplySet parent object ${this.#name} exists and has incorrect value for label ${JSON.stringify(idLabel)} (got: ${id}, want: ${this.id})`,
      );
  }

  async #notedKinds(noted: Texts): Promise<Map<string, RestMapping>> {
    const kinds = new Map<string, RestMapping>();
    const mapper = await this.#session.mapper();
    const failed = (why: string) => new KubectlError(`parsing ApplySet annotation on ${this.#name}: ${why}`);
    const listed = noted[annotations.kinds];
    const old = noted[annotations.resources] ?? "";
    if (listed === undefined && old === "")
      throw failed(
        `kubectl requires the ${JSON.stringify(annotations.kinds)} annotation to be set on all ApplySet parent objects`,
      );
    for (const text of (listed ?? old).split(",").filter((one) => one !== "")) {
      const at = text.indexOf(".");
      const [name, group] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
      try {
        const mapping = listed === undefined ? await mapper.mappingFor(text) : await mapper.mappingForKind(group, name);
        kinds.set(kindText(mapping), mapping);
      } catch (error) {
        if (!(error instanceof KubectlError)) throw error;
        throw failed(
          `could not find mapping for kind in ${JSON.stringify(annotations.kinds)} annotation: ${error.message}`,
        );
      }
    }
    return kinds;
  }

  async #updateParent(
    kinds: readonly string[],
    namespaces: readonly string[],
    dryRun: DryRun,
    { isDryRun, fieldValidation }: ResourceWriteOptions,
  ): Promise<void> {
    if (dryRun === "client") return;
    const { name, namespace } = this.#parent;
    const list = (values: readonly string[]) => [...new Set(values)].toSorted().join(",");
    const patch = {
      kind: this.#mapping.kind,
      apiVersion: apiVersionOf(this.#mapping),
      metadata: {
        name,
        ...(namespace !== "" && { namespace }),
        labels: { [idLabel]: this.id },
        annotations: {
          [annotations.namespaces]: list(namespaces.filter((one) => one !== namespace)),
          [annotations.kinds]: list(kinds),
          [annotations.tooling]: `${tool}/${toolVersion}`,
        },
      },
    };
    const options = {
      ...(isDryRun !== undefined && { isDryRun }),
      ...(fieldValidation !== undefined && { fieldValidation }),
      fieldManager: `${tool}-applyset`,
    };
    const client = await this.#session.client();
    try {
      await sendApply(client, this.#parent, patch, options, false).catch((error: unknown) => {
        if (!isConflict(error)) throw error;
        return sendApply(client, this.#parent, patch, options, true);
      });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw new KubectlError(`failed to update ApplySet: ${error.message}`, { cause: error });
    }
  }
}
