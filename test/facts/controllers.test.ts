import assert from "node:assert/strict";
import { test } from "node:test";
import { controllers } from "../../src/controllers/list.ts";
import { facts, missing } from "./facts.ts";

interface ControllerFact {
  readonly name: string;
  readonly serviceAccount?: string;
}

test("controllers have upstream's names and service accounts", { skip: missing }, () => {
  const known = new Map(
    facts<{ readonly controllers: readonly ControllerFact[] }>("controllers").controllers.map((one) => [one.name, one]),
  );
  const ours = controllers({ discover: async () => [], rootCa: "", nodeIpam: { clusterCidrs: ["10.0.0.0/8"] } });
  assert.deepEqual(
    ours.map(({ name, serviceAccount }) => [name, serviceAccount]),
    ours.map(({ name }) => [name, known.get(name)?.serviceAccount]),
  );
});
