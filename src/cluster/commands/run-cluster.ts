import { flushCompileCache } from "node:module";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { createLog } from "#base/log.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Command } from "#cli/command.ts";
import { parseFlags } from "#cli/flags.ts";
import type { BackgroundMessage, Order } from "../local/background.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { runCluster } from "../local/run.ts";
import { readSettings } from "../local/settings.ts";
import type { StartStep } from "../local/step.ts";
import { logWriter } from "../log-rotation.ts";

/** The process of a cluster, as `knarr up` starts it. */
export const runClusterCommand: Command = {
  use: "run-cluster [FLAGS]",
  async run(args) {
    const place = new ClusterFolder(parseFlags(placeFlags, args).flags);
    const log = createLog({ clock: systemClock, write: logWriter(place.log) });
    const stop = new AbortController();
    // Resolves also when nobody listens any more: whoever started this cluster need not wait until it is ready.
    const tell = (told: BackgroundMessage) =>
      new Promise((sent) => (process.connected ? process.send?.(told, sent) : sent(undefined)));
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
    const prepared = Promise.withResolvers<void>();
    let isAlone = !process.connected;
    process.on("message", (order: Order) => {
      if (order === "stay") isAlone = true;
      prepared.resolve();
    });
    process.once("disconnect", () => {
      if (!isAlone) stop.abort(new Error("whoever started this cluster has ended before it was ready"));
    });
    let code = 0;
    try {
      if (!isAlone) await unlessAborted(prepared.promise, stop.signal);
      const settings = readSettings(place);
      if (!settings) return place.mustExist();
      const onStep = (step: StartStep) => {
        void tell({ step });
        if (step.is === "ready") flushCompileCache(); // now, since this process may be killed rather than end
      };
      await runCluster({ place, settings, log, onStep }, stop.signal);
    } catch (error) {
      log.error("the cluster failed", { error, component: "cluster" });
      await tell({ failed: explain(error) });
      code = 1;
    }
    process.exit(code); // whatever of it has not noticed that it is over must not keep the cluster's folder
  },
};
