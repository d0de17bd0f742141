import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { causesOf, Triggers } from "./triggers.ts";

const pod = (name: string, resourceVersion: string) => ({
  metadata: { namespace: "default", name, uid: name, resourceVersion },
});
const textOf = (triggers: Triggers) => causesOf("services/default/web@1", triggers.take("web"));

test("triggers are told once, with the last change of each object, and only the newest few", () => {
  const triggers = new Triggers();
  triggers.note("web", Pod, pod("a", "2"));
  triggers.note("web", Pod, pod("b", "3"));
  triggers.note("web", Pod, pod("a", "4"));
  triggers.note("other", Pod, pod("c", "5"));
  assert.equal(textOf(triggers), "services/default/web@1,pods/default/b@3,pods/default/a@4");
  assert.equal(textOf(triggers), "services/default/web@1");
  for (let i = 0; i < 9; i++) triggers.note("web", Pod, pod(`p${i}`, `${i}`));
  assert.equal(
    textOf(triggers),
    "services/default/web@1,pods/default/p5@5,pods/default/p6@6,pods/default/p7@7,pods/default/p8@8",
  );
});

test("triggers of a reconcile that failed count for the next, behind none that came since", () => {
  const triggers = new Triggers();
  triggers.note("web", Pod, pod("a", "2"));
  triggers.note("web", Pod, pod("b", "3"));
  const taken = triggers.take("web");
  triggers.note("web", Pod, pod("a", "9"));
  triggers.giveBack("web", taken);
  assert.equal(textOf(triggers), "services/default/web@1,pods/default/b@3,pods/default/a@9");
});
