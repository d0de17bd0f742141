import { main } from "./cluster/main.ts";
import { tracesOfSources } from "./cluster/stack-traces.ts";

Error.prepareStackTrace = tracesOfSources();
// Whoever reads what is printed may have read enough (`| head`): that is no failure, and what is done goes on.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_DESTROYED") throw error;
});
process.exitCode = await main(process.argv.slice(2));
