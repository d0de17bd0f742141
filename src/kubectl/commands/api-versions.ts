// Upstream: kubectl/pkg/cmd/apiresources/apiversions.go.
import { command } from "../command.ts";
import { usageError } from "../errors.ts";

export const apiVersions = command({
  use: "api-versions",
  examples: "# Print the API versions that the server serves\nkubectl api-versions",
  async run(session, args, _flags, { commandPath }) {
    if (args.length > 0) throw usageError(`unexpected arguments: [${args.join(" ")}]`, commandPath);
    const discovery = await session.discovery();
    discovery.invalidate();
    const { groups } = await discovery.apis();
    const names = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion));
    for (const name of names.sort()) session.print(name);
  },
});
