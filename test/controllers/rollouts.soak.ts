import { test } from "node:test";
import fc from "fast-check";
import { daemonSetRollout, deploymentRollout, statefulSetRollout } from "./rollouts.ts";

const runs = { numRuns: 300, endOnFailure: true };

test("300 deployments have never too few pods that work, nor too many", () => fc.assert(deploymentRollout, runs));

test("300 stateful sets come and go in order, one pod at a time", () => fc.assert(statefulSetRollout, runs));

test("300 daemon sets have never too many nodes without a pod that works, nor with two", () =>
  fc.assert(daemonSetRollout, runs));
