import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { silentLog } from "#base/log.ts";
import { ConnectionShares } from "./connection-shares.ts";

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  isDestroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit("close");
  }
}

test("one address gets half of all connections, and gets them back as they end", () => {
  const shares = new ConnectionShares(4, silentLog);
  const open = (address: string) => {
    const socket = new FakeSocket(address);
    const isTaken = shares.take(socket as unknown as Socket);
    assert.equal(socket.isDestroyed, !isTaken);
    return { socket, isTaken };
  };
  const first = open("192.0.2.1");
  assert.deepEqual([first.isTaken, open("192.0.2.1").isTaken, open("192.0.2.1").isTaken], [true, true, false]);
  assert.equal(open("192.0.2.2").isTaken, true);
  first.socket.destroy();
  assert.deepEqual([open("192.0.2.1").isTaken, open("192.0.2.1").isTaken], [true, false]);
  const unlimited = new ConnectionShares(undefined, silentLog);
  for (let i = 0; i < 100; i++) assert.ok(unlimited.take(new FakeSocket("192.0.2.1") as unknown as Socket));
});
