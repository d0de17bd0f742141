import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { processes } from "#cluster/machine/processes.ts";
import { untilNone } from "../cluster/real-cluster.ts";

const holders = (path: string) => processes().filter(({ args }) => args[0] === "sh" && args.includes(path));
const untilLetGo = (path: string) =>
  untilNone(30_000, async () => holders(path).map(({ pid }) => `${pid} holds ${path}`));

/** Connects, says something when it is answered, and closes when told so. */
const caller = (path: string) => `
  import { connect } from "node:net";
  import { holdOpen } from "#kubelet/host/cri/hold-open.ts";
  const socket = connect(${JSON.stringify(path)}, () => holdOpen(socket, ${JSON.stringify(path)}));
  socket.once("readable", () => socket.write(socket.read()));
  process.stdin.once("data", () => { socket.destroy(); process.stdin.destroy(); });
`;

async function call() {
  const folder = mkdtempSync(join(tmpdir(), "knarr-hold-"));
  const path = join(folder, "socket");
  const server = createServer().listen(path);
  const child = spawn(process.execPath, ["--input-type=module", "--eval", caller(path)], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: ["pipe", "ignore", "inherit"],
  });
  const [connection] = (await once(server, "connection")) as [Socket];
  connection.write("answer");
  await once(connection, "data");
  return {
    path,
    child,
    connection,
    [Symbol.dispose]() {
      child.kill("SIGKILL");
      connection.destroy();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test("a connection outlives a caller that is killed, but not what it leads to", async () => {
  using held = await call();
  const closed = once(held.connection.resume(), "close");
  held.child.kill("SIGKILL");
  await once(held.child, "exit");
  assert.equal(holders(held.path).length, 1);
  assert.equal(held.connection.readableEnded, false);
  rmSync(held.path);
  await closed;
  await untilLetGo(held.path);
});

test("a caller that closes its connection leaves nothing", async () => {
  using held = await call();
  const closed = once(held.connection.resume(), "close");
  assert.equal(holders(held.path).length, 1);
  held.child.stdin.write("close");
  await closed;
  await untilLetGo(held.path);
});
