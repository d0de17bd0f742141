// kubectl without the rest of knarr: the launcher starts it by itself, since people wait for every command they type.
import { kubectl } from "./commands/kubectl.ts";
import { tracesOfSources } from "./stack-traces.ts";

Error.prepareStackTrace = tracesOfSources();
const code = await kubectl.run(process.argv.slice(2));
process.exitCode = typeof code === "number" ? code : 0;
