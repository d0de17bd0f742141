// Every kind against the table of upstream's resources, as discovery shows it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { catalog } from "#api/catalog.ts";
import { groupPriorities } from "#api/group-priorities.ts";
import { metaStructs } from "#api/openapi.ts";
import { apiGroupList, apiResourceList, type Catalog, storageVersionHash } from "#schema/discovery.ts";
import type { AnyKind } from "#schema/index.ts";
import { facts, missing } from "./facts.ts";

interface ResourceFacts {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly enabledByDefault: boolean;
  readonly persisted: boolean;
  readonly storageVersionHash?: string;
  readonly subresources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly kindGV?: string;
    readonly verbs: readonly string[];
  }[];
  readonly fieldSelectors?: readonly string[];
}
interface Facts {
  readonly groups: readonly { readonly group: string; readonly versionsServedByDefault: readonly string[] }[];
  readonly resources: readonly ResourceFacts[];
}

const served: Catalog = { kinds: catalog, priorities: groupPriorities, Scale: metaStructs.Scale };
const nameOf = ({ group, version, plural }: { group: string; version: string; plural: string }) =>
  `${group}/${version} ${plural}`;
const kindOf = (fact: ResourceFacts) => catalog.find((kind) => nameOf(kind) === nameOf(fact));
const byDefault = () => facts<Facts>("resources").resources.filter((one) => one.enabledByDefault);

test("the catalog has every resource that upstream serves by default, and no other", { skip: missing }, () => {
  assert.deepEqual(catalog.map(nameOf).toSorted(), byDefault().map(nameOf).toSorted());
});

test("discovery describes every resource and subresource as upstream does", { skip: missing }, () => {
  for (const fact of byDefault()) {
    const list = apiResourceList(served, fact.group, fact.version)?.resources ?? [];
    const own = list.filter(({ name }) => name.split("/")[0] === fact.plural);
    const { plural, singular, namespaced, kind, verbs, shortNames, categories } = fact;
    const expected = [
      { name: plural, singularName: singular, namespaced, kind, verbs, shortNames, categories },
      ...fact.subresources.map((one) => ({
        name: `${plural}/${one.name}`,
        singularName: "",
        namespaced,
        kind: one.kind,
        verbs: one.verbs,
        ...(one.kindGV && { group: one.kindGV.split("/")[0], version: one.kindGV.split("/")[1] }),
      })),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const ours = own.map(({ storageVersionHash: _, shortNames, categories, ...rest }) =>
      rest.name === plural ? { ...rest, shortNames: shortNames ?? [], categories: categories ?? [] } : rest,
    );
    assert.deepEqual(ours, expected, nameOf(fact));
  }
});

test("groups come in upstream's order", { skip: missing }, () => {
  const expected = facts<Facts>("resources").groups.filter(
    ({ group, versionsServedByDefault }) => group !== "" && versionsServedByDefault.length > 0,
  );
  assert.deepEqual(
    apiGroupList(served).groups.map(({ name, versions }) => [name, ...versions.map(({ version }) => version)]),
    expected.map(({ group, versionsServedByDefault }) => [group, ...versionsServedByDefault]),
  );
});

test("what is stored, and in which form, equals upstream", { skip: missing }, () => {
  const wrong = byDefault().flatMap((fact) => {
    const kind = kindOf(fact);
    if (!kind) return [];
    const hash = kind.stored === false ? undefined : storageVersionHash(kind);
    return hash === fact.storageVersionHash ? [] : [`${nameOf(fact)}: ${hash}`];
  });
  assert.deepEqual(wrong, []);
});

test("field selectors may name what upstream lets them name", { skip: missing }, () => {
  const wrong = byDefault().flatMap((fact) => {
    const kind = kindOf(fact);
    if (!kind || !fact.fieldSelectors) return [];
    const expected = fact.fieldSelectors.map((text) => text.replace(/\(.*\)$/, "")).toSorted();
    const ours = selectable(kind);
    if (ours.join() === expected.join()) return [];
    return [`${nameOf(fact)}: ${ours.join(" ")}, upstream ${expected.join(" ")}`];
  });
  assert.deepEqual(wrong, []);
});

const selectable = (kind: AnyKind): readonly string[] =>
  [
    "metadata.name",
    ...(kind.scope === "Namespaced" ? ["metadata.namespace"] : []),
    ...Object.keys(kind.selectableFields ?? {}),
  ].toSorted();
