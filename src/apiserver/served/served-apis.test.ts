import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenReview } from "#api/authentication/v1/token-review.ts";
import { SubjectAccessReview } from "#api/authorization/v1/subject-access-review.ts";
import { ServedApis } from "./served-apis.ts";

const tokenReviews = { kind: TokenReview, verbs: {} };
const accessReviews = { kind: SubjectAccessReview, verbs: {} };

test("what a source serves replaces what it served before, in one step that listeners see", () => {
  const apis = new ServedApis();
  const seen: unknown[] = [];
  const unsubscribe = apis.subscribe(() => seen.push([apis.generation, apis.kinds.map(({ kind }) => kind)]));
  apis.replace("one", [tokenReviews]);
  apis.replace("other", [accessReviews]);
  assert.equal(apis.find("authentication.k8s.io", "v1", "tokenreviews"), tokenReviews);
  assert.equal(apis.find("authentication.k8s.io", "v2", "tokenreviews"), undefined);
  apis.replace("one", []);
  assert.equal(apis.find("authentication.k8s.io", "v1", "tokenreviews"), undefined);
  assert.deepEqual([apis.hasGroup("authentication.k8s.io"), apis.hasGroup("authorization.k8s.io")], [false, true]);
  unsubscribe();
  apis.replace("other", []);
  assert.deepEqual(seen, [
    [1, ["TokenReview"]],
    [2, ["TokenReview", "SubjectAccessReview"]],
    [3, ["SubjectAccessReview"]],
  ]);
});

test("two sources cannot serve the same resource, and the attempt changes nothing", () => {
  const apis = new ServedApis();
  apis.replace("one", [tokenReviews]);
  assert.throws(() => apis.replace("other", [accessReviews, { ...tokenReviews }]), {
    message: "tokenreviews.v1.authentication.k8s.io is served already",
  });
  assert.deepEqual([apis.generation, apis.kinds, apis.of("other")], [1, [TokenReview], []]);
});
