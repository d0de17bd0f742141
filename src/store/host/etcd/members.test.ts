import assert from "node:assert/strict";
import { test } from "node:test";
import { type EtcdMemberState, survivesWithout } from "./members.ts";

const member = (id: bigint, problem?: string, isLearner = false): EtcdMemberState => ({
  id,
  name: `m${id}`,
  peerUrls: [],
  clientUrls: [],
  isLearner,
  problem,
});
const down = "no answer";

const cases: readonly (readonly [string, readonly EtcdMemberState[], boolean])[] = [
  ["the only one of its cluster", [member(1n)], false],
  ["one of two that are well", [member(1n), member(2n)], true],
  ["one of two of which the other is down", [member(1n), member(2n, down)], false],
  ["one of three that are well", [member(1n), member(2n), member(3n)], true],
  ["one of three of which another is down", [member(1n), member(2n), member(3n, down)], false],
  ["the one of three that is down", [member(1n, down), member(2n), member(3n)], true],
  ["one of four of which another is down", [member(1n), member(2n), member(3n), member(4n, down)], true],
  ["one beside a learner, which has no vote", [member(1n), member(2n, undefined, true)], false],
];
for (const [what, members, isFine] of cases)
  test(`${what} can${isFine ? "" : "not"} leave`, () => assert.equal(survivesWithout(members, 1n), isFine));
