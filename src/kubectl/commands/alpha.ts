// Upstream: kubectl/pkg/cmd/alpha.go. No command is in alpha in 1.36.
import { command } from "../command.ts";

export const alpha = command({
  use: "alpha",
  long: "Commands that are being tried out. There are none at present.",
  run: async (session) => {
    session.io.stderr.write("No alpha commands are available in this version of kubectl\n");
  },
});
