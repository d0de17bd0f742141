// A connection that outlives the kubelet. A runtime cancels calls when the caller disconnects, and a container whose start is cancelled
// may have run for a moment, unnoticed. So a shell inherits the connection, and keeps it open until the calls in flight are done.
import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/** Waits for the kubelet to end, and then for the calls in flight, unless the runtime's socket goes first. */
const script = 'read -r _; left=20; while [ $((left -= 1)) -ge 0 ] && [ -S "$0" ]; do sleep 1; done';

/** Holds a connection to the socket of that path. */
export function holdOpen(socket: Socket, path: string): void {
  const holder = spawn("sh", ["-c", script, path], { detached: true, stdio: ["pipe", "ignore", "ignore", socket] });
  socket.read(0); // what is handed to a child is not read any more
  holder.on("error", () => undefined); // without a shell, calls in flight are cancelled when the kubelet ends
  holder.unref();
  socket.once("close", () => holder.kill());
}
