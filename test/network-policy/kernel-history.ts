// A history of policies, pods and namespaces that a table of the kernel follows, compared at each step with a table made from nothing.
import assert from "node:assert/strict";
import type { Random } from "#base/random.ts";
import { parseJson } from "#schema/json.ts";
import { History } from "./history.ts";
import { namespace, runIn } from "./kernel.ts";
import { tableFor } from "./worlds.ts";

const { signal } = new AbortController();

interface Listing {
  readonly nftables: readonly {
    readonly rule?: { readonly chain: string; readonly expr: unknown; readonly comment?: string };
    readonly chain?: { readonly name: string };
    readonly set?: { readonly name: string; readonly elem?: readonly unknown[] };
    readonly map?: { readonly name: string; readonly elem?: readonly unknown[] };
  }[];
}

/** Says how much was compared. */
export async function followHistory(random: Random, steps: number): Promise<{ rules: number; elements: number }> {
  using followed = namespace("followed");
  using fresh = namespace("fresh");
  const [follow, make] = [runIn(followed.name), runIn(fresh.name)];
  const history = new History(random, "n1");
  const compared = { rules: 0, elements: 0 };
  await follow(["nft", "-f", "-"], { input: history.table.rewrite(), signal });
  for (let step = 0; step < steps; step++) {
    for (let changes = 1 + random.below(4); changes > 0; changes--) history.step();
    const input = history.table.changes();
    if (input !== "") await follow(["nft", "-f", "-"], { input, signal });
    await make(["nft", "-f", "-"], { input: tableFor(history.state, "n1").rewrite(), signal });
    const [present, expected] = await Promise.all([contents(follow), contents(make)]);
    assert.deepEqual(present.lines, expected.lines, `step ${step}\n${input}`);
    compared.rules += expected.rules;
    compared.elements += expected.elements;
  }
  return compared;
}

/** The kernel's table, without handles, in an order that does not depend on how it came about. */
async function contents(run: ReturnType<typeof runIn>) {
  const text = await run(["nft", "-j", "list", "table", "inet", "knarr-policy"], { signal });
  const { nftables } = parseJson(text).value as Listing;
  const rules = new Map<string, unknown[]>();
  for (const { chain, rule } of nftables) {
    if (chain) rules.set(chain.name, rules.get(chain.name) ?? []);
    if (rule) rules.set(rule.chain, [...(rules.get(rule.chain) ?? []), [rule.expr, rule.comment]]);
  }
  const sets = nftables.flatMap(({ set, map }) => set ?? map ?? []);
  return {
    lines: [
      ...[...rules].map(([chain, all]) => `${chain}: ${JSON.stringify(all)}`),
      ...sets.map(
        ({ name, elem = [] }) =>
          `${name} { ${elem
            .map((one) => JSON.stringify(one))
            .toSorted()
            .join(", ")} }`,
      ),
    ].toSorted(),
    rules: [...rules.values()].reduce((sum, all) => sum + all.length, 0),
    elements: sets.reduce((sum, { elem = [] }) => sum + elem.length, 0),
  };
}
