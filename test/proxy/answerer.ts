// Runs inside the namespace of a test node: answers on its addresses, and asks where it is told to.
import { createSocket } from "node:dgram";
import { connect, createServer, isIPv6 } from "node:net";

interface Question {
  readonly id: number;
  readonly to: string;
  readonly port: number;
  readonly from?: string;
  readonly protocol?: "tcp" | "udp";
}

const waitMs = 400;

for (const entry of process.argv.slice(2)) {
  const address = entry.split("/")[0] as string;
  createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(`${address} ${socket.remoteAddress}`);
  }).listen(8080, address);
  const datagrams = createSocket(isIPv6(address) ? "udp6" : "udp4");
  datagrams.on("message", (_, from) => datagrams.send(address, from.port, from.address));
  datagrams.bind(8080, address);
}

/** One socket for all datagrams to a place, as a client that goes on asking has. */
const clients = new Map<string, ReturnType<typeof createSocket>>();

function askByUdp({ to, port }: Question): Promise<string> {
  const key = `${to} ${port}`;
  const socket = clients.get(key) ?? createSocket(isIPv6(to) ? "udp6" : "udp4");
  clients.set(key, socket);
  return new Promise((resolve) => {
    socket.removeAllListeners();
    const timer = setTimeout(() => resolve("timeout"), waitMs);
    socket.on("message", (answer) => {
      clearTimeout(timer);
      resolve(String(answer));
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    socket.send("who", port, to);
  });
}

function askByTcp({ to, port, from }: Question): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: to, port, ...(from && { localAddress: from }) });
    let answer = "";
    socket.setTimeout(waitMs, () => {
      socket.destroy();
      resolve("timeout");
    });
    socket.on("data", (bytes) => {
      answer += bytes;
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    socket.on("close", () => resolve(answer.split(" ")[0] ?? ""));
  });
}

process.on("message", async (question: Question) => {
  const answer = await (question.protocol === "udp" ? askByUdp(question) : askByTcp(question));
  process.send?.({ id: question.id, answer });
});
process.on("disconnect", () => process.exit());
setTimeout(() => process.send?.("ready"), 100);
