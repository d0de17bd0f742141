// Runs inside the namespace of the pods, and is all of them: answers at their addresses, and connects from them.
import { createSocket, type Socket as Datagrams } from "node:dgram";
import { connect, createServer, isIPv6, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Probe } from "./kernel.ts";
import type { Connection } from "./model.ts";

interface Question {
  readonly id: number;
  readonly probes?: readonly Probe[];
  readonly open?: Connection;
  readonly name?: string;
  readonly say?: string;
  readonly who?: "client" | "server";
  readonly heard?: "client" | "server";
}

const [, , addressList = "", portList = ""] = process.argv;
const addresses = addressList.split(",");
const ports = portList.split(",").map(Number);
/** Until expected answers are given up on. Nobody waits so long unless rules are wrong. */
const patienceMs = 60_000;

/** The far ends of connections that stay, by the name that their client says first. */
const accepted = new Map<string, Socket>();
const heard = new Map<string, string>();
const hear = (key: string, text: string) => heard.set(key, (heard.get(key) ?? "") + text);

async function listen(): Promise<void> {
  const opened: Promise<unknown>[] = [];
  for (const port of ports) {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(".");
      let name: string | undefined;
      socket.on("data", (bytes) => {
        const text = String(bytes);
        if (name === undefined) {
          name = text;
          accepted.set(name, socket);
        } else hear(`${name} server`, text);
      });
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen({ port, host: "::", backlog: 4096 }, resolve);
    opened.push(promise);
    for (const address of addresses)
      opened.push(
        bound(address, port, (socket) => {
          socket.on("message", (text, { port: to, address: at }) => socket.send(text, to, at));
        }),
      );
  }
  await Promise.all(opened);
}

function bound(address: string, port: number, prepare: (socket: Datagrams) => void): Promise<Datagrams> {
  const { promise, resolve } = Promise.withResolvers<Datagrams>();
  const socket = createSocket({ type: isIPv6(address) ? "udp6" : "udp4", recvBufferSize: 4_000_000 });
  prepare(socket);
  socket.on("error", () => undefined); // refusals of the other side
  socket.bind(port, address, () => resolve(socket));
  return promise;
}

/** Called with each datagram that comes back, by its text. */
const waitingDatagrams = new Map<string, () => void>();
const senders = new Map<string, Datagrams>();

async function senderAt(address: string): Promise<Datagrams> {
  const present = senders.get(address);
  if (present) return present;
  const socket = await bound(address, 0, (one) => one.on("message", (text) => waitingDatagrams.get(String(text))?.()));
  senders.set(address, socket);
  return socket;
}

let rounds = 0;

async function round(probes: readonly Probe[]): Promise<readonly boolean[]> {
  const number = rounds++;
  const answered = probes.map(() => false);
  const sockets: Socket[] = [];
  let missing = probes.filter(({ isExpected }) => isExpected).length;
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  const note = (i: number) => {
    if (answered[i]) return;
    answered[i] = true;
    if (probes[i]?.isExpected && --missing === 0) resolve();
  };
  if (missing === 0) resolve();
  const begin = (i: number, { from, to, port, isExpected }: Probe) => {
    const socket = connect({ host: to, port, localAddress: from });
    socket.on("error", () => void (isExpected && !stop.signal.aborted && setTimeout(begin, 100, i, probes[i])));
    socket.once("data", () => note(i));
    sockets.push(socket);
  };
  const stop = new AbortController();
  for (const [i, probe] of probes.entries()) {
    const { from, to, protocol, port } = probe;
    if (protocol === "TCP") begin(i, probe);
    else {
      const text = `${number} ${i}`;
      waitingDatagrams.set(text, () => note(i));
      (await senderAt(from)).send(text, port, to);
    }
  }
  // A datagram that was lost because a buffer was full is sent again, as a resolver would.
  const again = resend(probes, answered, number, stop.signal);
  await Promise.race([complete, pause(patienceMs, undefined, { signal: stop.signal }).catch(() => undefined)]);
  stop.abort();
  await again;
  await pause(30); // what was sent before is through by now
  waitingDatagrams.clear();
  for (const socket of sockets) socket.resetAndDestroy();
  return answered;
}

async function resend(probes: readonly Probe[], answered: readonly boolean[], number: number, signal: AbortSignal) {
  for (;;) {
    try {
      await pause(1_000, undefined, { signal });
    } catch {
      return; // all have been answered
    }
    for (const [i, { from, to, protocol, port, isExpected }] of probes.entries())
      if (protocol === "UDP" && isExpected && !answered[i]) (await senderAt(from)).send(`${number} ${i}`, port, to);
  }
}

const clients = new Map<string, Socket | ((text: string) => void)>();

function open(name: string, { from, to, port, protocol }: Connection): Promise<"open" | "closed"> {
  const { promise, resolve } = Promise.withResolvers<"open" | "closed">();
  if (protocol === "UDP") {
    void bound(from, 0, (socket) => {
      // Echoes come back from the server: the client hears itself.
      socket.on("message", (text) => hear(`${name} client`, String(text)));
      clients.set(name, (text) => socket.send(text, port, to));
    }).then(() => resolve("open"));
    return promise;
  }
  const socket = connect({ host: to, port, localAddress: from });
  clients.set(name, socket);
  socket.on("error", () => resolve("closed"));
  socket.once("data", () => {
    socket.on("data", (bytes) => hear(`${name} client`, String(bytes)));
    socket.write(name);
    const known = setInterval(() => {
      if (!accepted.has(name)) return;
      clearInterval(known);
      resolve("open");
    }, 2);
  });
  return promise;
}

function say(name: string, who: "client" | "server", text: string): void {
  const client = clients.get(name);
  if (who === "server") accepted.get(name)?.write(text);
  else if (typeof client === "function") client(text);
  else client?.write(text);
}

process.on("message", async (question: Question) => {
  const { id, name = "", who = "client" } = question;
  let answer: unknown;
  if (question.probes) answer = await round(question.probes);
  else if (question.open) answer = await open(name, question.open);
  else if (question.say !== undefined) say(name, who, question.say);
  else if (question.heard) answer = heard.get(`${name} ${question.heard}`) ?? "";
  process.send?.({ id, answer });
});
process.on("disconnect", () => process.exit());
await listen();
process.send?.("ready");
