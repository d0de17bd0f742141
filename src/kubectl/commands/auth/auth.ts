// Upstream: kubectl/pkg/cmd/auth.
import { command } from "../../command.ts";

export const auth = command({
  use: "auth",
  long: "Inspect authorization.",
  subcommands: [
    { name: "can-i", short: "Check whether an action is allowed", load: async () => (await import("./can-i.ts")).canI },
    {
      name: "reconcile",
      short: "Bring roles and role bindings to what manifests say",
      load: async () => (await import("./reconcile.ts")).reconcile,
    },
    {
      name: "whoami",
      short: "Tell who the server takes one for",
      load: async () => (await import("./whoami.ts")).whoami,
    },
  ],
});
