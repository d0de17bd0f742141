import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressPool, addressIn, partOf } from "./addresses.ts";

test("networks are cut into parts and addresses, to their ends", () => {
  assert.equal(addressIn("172.24.0.0/14", 0), "172.24.0.1");
  assert.equal(addressIn("172.24.0.0/14", 255), "172.24.1.0");
  assert.equal(partOf("10.244.0.0/16", 24, 3), "10.244.3.0/24");
  assert.equal(partOf("fd00:10::/48", 64, 2), "fd00:10:0:2::/64");
  assert.throws(() => partOf("10.244.0.0/16", 24, 256), /10\.244\.0\.0\/16 has no part of \/24 for number 257/);
  assert.throws(() => addressIn("10.0.0.0/30", 3), /no address for number 4/);
  assert.throws(() => addressIn("nonsense", 0), /"nonsense" is not a network/);
});

test("a pool hands out each address once, until it is given back", () => {
  const pool = new AddressPool("10.0.0.0/29");
  const taken = Array.from({ length: 5 }, () => pool.take());
  assert.deepEqual(taken, ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"]);
  assert.throws(() => pool.take(), /no addresses are left in 10\.0\.0\.0\/29/);
  pool.giveBack("10.0.0.4");
  pool.giveBack("10.0.0.3");
  assert.deepEqual([pool.take(), pool.take()].toSorted(), ["10.0.0.3", "10.0.0.4"]);
  assert.equal(new AddressPool("fd00::/64").take(), "fd00::2");
});
