// Runs both initializers against the cluster of the current kubeconfig context, or the cluster it runs in.
import { systemClock as clock } from "#base/clock.ts";
import { supervise } from "#base/supervise.ts";
import { connection } from "#client/host/connect.ts";
import { httpsTransport } from "#client/host/https-transport.ts";
import { runInitializer } from "./initializer.ts";
import { passwordLength, sidecar } from "./initializers.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort(new Error(signal)));

const { transport, close } = httpsTransport(await connection({ env: process.env, clock }));
const user = { name: "", groups: [] }; // the server knows us by our credentials
const components = [sidecar, passwordLength].map((one) => ({
  name: one.name,
  run: async (signal: AbortSignal) => {
    while (!signal.aborted) await runInitializer(one, { transport, user }, signal); // a watch ends at times
  },
}));
try {
  await supervise(components, stop.signal);
} finally {
  close();
}
