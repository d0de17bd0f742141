// A node in a network namespace of this machine, which is entered by the program nsenter.
import { runProgram } from "#base/host/run-program.ts";
import { NamespaceConnections } from "./namespace-connections.ts";
import type { NodeLocation } from "./node-location.ts";
import { openInNamespace } from "./open-in-namespace.ts";
import { networkAt } from "./processes.ts";

/** `name` is that of a file below /run/netns. */
export function networkNamespace(name: string): NodeLocation {
  const path = `/run/netns/${name}`;
  const connections = new NamespaceConnections(name);
  // `ip netns exec` would mount /sys anew and hide the cgroups.
  const command = (inner: readonly string[]) => ["nsenter", `--net=${path}`, ...inner];
  return {
    name,
    command,
    run: (inner, options) => runProgram(command(inner), options),
    dial: (to, signal) => connections.connect(to, signal),
    async listen(server, { host, port }, signal) {
      const [socket] = await openInNamespace(name, [{ address: host, port }], signal);
      if (socket?.protocol !== "tcp") throw new Error(`no socket for ${host}:${port} came back`);
      await server.listenOn(socket.handle);
      return socket.port;
    },
    holds: (pid) => networkAt(`/proc/${pid}/ns/net`) === networkAt(path),
  };
}
