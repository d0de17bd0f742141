import assert from "node:assert/strict";
import { test } from "node:test";
import { Nominations } from "./nominations.ts";
import { PodView } from "./pod-view.ts";
import { Scenario } from "./testing/scenario.ts";

test("a nomination that is not written yet outlasts other changes of its pod", () => {
  const scenario = new Scenario();
  const pod = (nominatedNodeName?: string) =>
    new PodView(
      scenario.podOf({
        metadata: { name: "boss", uid: "u1" },
        ...(nominatedNodeName !== undefined && { status: { nominatedNodeName } }),
      }),
    );
  const nominations = new Nominations();
  nominations.follow(undefined, pod("a"));
  assert.equal(nominations.nodeOf("u1"), "a", "what another scheduler wrote before this one began");
  nominations.set(pod("a"), "b");
  nominations.follow(pod("a"), pod("a"));
  assert.equal(nominations.nodeOf("u1"), "b");
  assert.deepEqual(
    nominations.on("a").map(({ name }) => name),
    [],
  );
  nominations.follow(pod("a"), pod("b"));
  assert.equal(nominations.nodeOf("u1"), "b");
  nominations.delete("u1");
  nominations.follow(pod("b"), pod("b"));
  assert.equal(nominations.nodeOf("u1"), undefined, "what was taken back here does not come back");
  nominations.follow(pod("b"), pod("c"));
  assert.equal(nominations.nodeOf("u1"), "c");
  nominations.follow(pod("c"), pod());
  assert.equal(nominations.nodeOf("u1"), undefined);
});
