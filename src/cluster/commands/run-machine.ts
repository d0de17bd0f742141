import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { createLog } from "#base/log.ts";
import type { Command } from "#cli/command.ts";
import { parseFlags } from "#cli/flags.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { runMachine } from "../join/run-machine.ts";
import { type MachineFailure, stay } from "../join/start-machine.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { logWriter } from "../log-rotation.ts";

/** The process of a machine that has joined, as `knarr join` starts it. */
export const runMachineCommand: Command = {
  use: "run-machine [FLAGS]",
  async run(args) {
    const place = new ClusterFolder(parseFlags(placeFlags, args).flags);
    const machine = joinedMachine(place);
    if (!machine) throw new Error(`this machine has joined no cluster ${JSON.stringify(place.name)}`);
    const log = createLog({ clock: systemClock, write: logWriter(place.log) });
    const stop = new AbortController();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
    let isAlone = !process.connected;
    process.once("message", (order) => {
      isAlone = order === stay;
    });
    process.once("disconnect", () => {
      if (!isAlone) stop.abort(new Error("whoever started this node has ended before it was ready"));
    });
    let code = 0;
    try {
      await runMachine(place, machine, log, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) {
        log.error("the node failed", { error });
        code = 1;
        const failure: MachineFailure = { failed: explain(error) };
        if (process.connected) await new Promise((sent) => process.send?.(failure, sent));
      }
    }
    process.exit(code); // whatever of it has not noticed that it is over must not keep the folder
  },
};
