import { test } from "node:test";
import fc from "fast-check";
import { daemonSetRollout, deploymentRollout, statefulSetRollout } from "./rollouts.ts";

const runs = { numRuns: 12, seed: 20260101, endOnFailure: true };

test("a deployment has never too few pods that work, nor too many", () => fc.assert(deploymentRollout, runs));

test("a stateful set comes and goes in order, one pod at a time", () => fc.assert(statefulSetRollout, runs));

test("a daemon set has never too many nodes without a pod that works, nor with two", () =>
  fc.assert(daemonSetRollout, runs));
