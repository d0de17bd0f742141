import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { ImageMaker } from "./image-maker.ts";

test("the image of an add-on is made once, after a failure again when a while has passed, and others never", async () => {
  const clock = new ManualClock();
  const made: string[] = [];
  let fails = true;
  const maker = new ImageMaker({
    cacheFolder: "/images",
    clock,
    log: silentLog,
    async make({ cache, name }) {
      made.push(`${cache}/${name}`);
      if (fails) throw new Error("there is no such package");
      return `knarr.local/${name}:1`;
    },
  });
  const { signal } = new AbortController();
  const ask = (name: string) => maker.ensure(name, signal);
  assert.deepEqual(await Promise.all([ask("dns"), ask("dns"), ask("nginx"), ask("etcd")]), [
    false,
    false,
    false,
    false,
  ]);
  fails = false;
  assert.equal(await ask("dns"), false, "not at once");
  await clock.advance(60_000);
  assert.deepEqual([await ask("dns"), await ask("dns")], [true, true]);
  assert.deepEqual(made, ["/images/dns", "/images/dns"]);
});
