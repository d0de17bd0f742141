// The process that carries connections of a node in proxy mode userspace: this program once more, in the network of the node.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Component } from "#base/supervise.ts";
import { ForwarderProcess } from "#proxy/host/forwarder-process.ts";
import type { NodeLocation } from "./node-location.ts";

/** Ends with its component. */
export function nodeForwarder(location: NodeLocation): {
  readonly forwarder: ForwarderProcess;
  readonly component: Component;
} {
  const forwarder = new ForwarderProcess(() => {
    const own = [process.execPath, ...process.execArgv, resolve(process.argv[1] ?? ""), "run-forwarder"];
    const [program = "", ...args] = location.command(own);
    return spawn(program, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  });
  return {
    forwarder,
    component: {
      name: "forwarder",
      async run(signal) {
        if (!signal.aborted) await once(signal, "abort");
        await forwarder.end();
      },
    },
  };
}
