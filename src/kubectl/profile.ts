// --profile: what a command spends its time or memory on. Node's own profiles are written (for the developer tools of a browser), not
// those of Go; of what only Go has, nothing.
import { writeFileSync } from "node:fs";
import { Session as Inspector } from "node:inspector/promises";
import { resolve } from "node:path";
import { KubectlError } from "./errors.ts";
import type { Io } from "./io.ts";

const onlyInGo = ["goroutine", "threadcreate", "block", "mutex"];

/** Runs with the profile that was asked for; it is written whatever happens. Throws KubectlError for a name that no profile has. */
export async function withProfile<T>(name: string, file: string, io: Io, run: () => Promise<T>): Promise<T> {
  if (name === "none") return run();
  if (onlyInGo.includes(name))
    throw new KubectlError(`profile '${name}' is one of Go programs; there are cpu and heap`);
  if (name !== "cpu" && name !== "heap") throw new KubectlError(`unknown profile '${name}'`);
  const inspector = new Inspector();
  inspector.connect();
  try {
    if (name === "cpu") {
      await inspector.post("Profiler.enable");
      await inspector.post("Profiler.start");
    } else await inspector.post("HeapProfiler.startSampling");
    return await run();
  } finally {
    const { profile } = await (name === "cpu"
      ? inspector.post("Profiler.stop")
      : inspector.post("HeapProfiler.stopSampling"));
    writeFileSync(resolve(io.cwd, file), JSON.stringify(profile));
    inspector.disconnect();
  }
}
