// A connection that outlives us. A runtime gives up what it does for a caller that goes away, and a container whose start is undone
// may have run for a moment: nobody can tell. So a shell holds the connection, too, until what was under way at our death is done.
import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/** It waits for our end, and then for a while, unless the runtime's socket goes first. */
const script = 'read -r _; left=20; while [ $((left -= 1)) -ge 0 ] && [ -S "$0" ]; do sleep 1; done';

/** Holds a connection to the socket of that path. */
export function holdOpen(socket: Socket, path: string): void {
  const holder = spawn("sh", ["-c", script, path], { detached: true, stdio: ["pipe", "ignore", "ignore", socket] });
  socket.read(0); // what is handed to a child is not read any more
  holder.on("error", () => undefined); // without a shell, calls end with us
  holder.unref();
  socket.once("close", () => holder.kill());
}
