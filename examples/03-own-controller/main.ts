// Runs the controller against the cluster of the current kubeconfig context, or the cluster it runs in. Two may run: one works.
import { hostname } from "node:os";
import { systemClock as clock } from "#base/clock.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import { systemRandom as random } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { elected } from "#client/election.ts";
import { connectClient } from "#client/host/connect.ts";
import { runControllers } from "#client/run-controllers.ts";
import { welcome } from "./controller.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort(new Error(signal)));

const log = createLog({ clock, write: writeToStderr });
const { client, close } = await connectClient({ env: process.env, userAgent: "welcome/1", clock, signal: stop.signal });
const controllers = runControllers([welcome], { client, clock, random, log });
const lease = { namespace: "default", name: "welcome-controller" };
const identity = `${hostname()}_${random.uuid()}`;
try {
  await supervise([elected(controllers, { client, clock, random, log, lease, identity })], stop.signal);
} finally {
  close();
}
