import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/v1/namespace.ts";
import { seededRandom } from "#base/random.ts";
import { RandomCluster } from "./random-cluster.ts";
import { feasibleNodes, totalScores } from "./reference.ts";
import { Scenario } from "./scenario.ts";

const clusters = 20_000;
/** So many clusters are made of one, by taking everything away again: what is kept up as things come and go must come out the same. */
const inOne = 50;
const namespaces = { default: { team: "x" }, other: { team: "y" } };

test(`the scheduler and a slow and obvious one agree on ${clusters} clusters`, () => {
  let placed = 0;
  let scenario = new Scenario();
  for (let seed = 0; seed < clusters; seed++) {
    const chance = new RandomCluster(seededRandom(seed));
    if (seed % inOne === 0) {
      scenario = new Scenario({ seed });
      for (const [name, labels] of Object.entries(namespaces)) scenario.have(Namespace, { metadata: { name, labels } });
    } else scenario.clear();
    const nodes = Array.from({ length: chance.number(1, 5) }, (_, i) => scenario.node(`n${i}`, chance.node()));
    const pods = chance.some(7, () => {
      const on = `n${chance.number(0, nodes.length - 1)}`;
      return scenario.pod(chance.pod(), on).pod;
    });
    const pod = scenario.pod(chance.pod());
    const cluster = { nodes, pods, namespaces };
    const feasible = feasibleNodes(pod.pod, cluster);
    const names = feasible.map(({ metadata }) => metadata.name);
    const refused = scenario.refusals(pod);
    const label = () => `seed ${seed}: ${JSON.stringify({ pod: pod.pod.spec, refused }, null, 1)}`;
    const allowed = nodes.map(({ metadata }) => metadata.name).filter((name) => refused[name] === undefined);
    if (allowed.join() !== names.join()) assert.deepEqual(allowed, names, label());
    const result = scenario.place(pod);
    if (!("node" in result)) continue;
    placed++;
    if (feasible.length === 1) continue;
    const totals = totalScores(pod.pod, feasible, cluster);
    const ours = scenario.cycle.totals();
    for (const [name, total] of totals)
      if (ours.get(name) !== total) assert.equal(ours.get(name), total, `node ${name}, ${label()}`);
    assert.equal(result.score, Math.max(...totals.values()));
    assert.equal(totals.get(result.node.name), result.score);
  }
  assert.ok(placed > clusters / 4, `${placed} pods were placed`);
});
