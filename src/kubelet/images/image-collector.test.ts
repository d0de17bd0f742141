import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import type { Image } from "../runtime.ts";
import { ImageCollector, type ImageThresholds } from "./image-collector.ts";

const { signal } = new AbortController();
const image = (id: string, sizeBytes = 10, rest: Partial<Image> = {}): Image => ({
  id,
  names: [`example/${id}@sha256:0`, `example/${id}:1`],
  sizeBytes,
  ...rest,
});

function node(images: Image[], used: string[] = [], thresholds?: ImageThresholds) {
  const clock = new ManualClock();
  const state = { images, used, availableBytes: 500, capacityBytes: 1000 };
  const removed: string[] = [];
  const events: string[] = [];
  const collector = new ImageCollector({
    runtime: {
      images: async () => state.images,
      imagesInUse: async () => new Set(state.used),
      async removeImage(id) {
        removed.push(id);
        state.images = state.images.filter((one) => one.id !== id);
      },
    },
    imageFs: async () => ({ ...state, usedBytes: 0, inodes: 0, inodesFree: 0 }),
    event: (reason, message) => events.push(`${reason} ${message}`),
    ...(thresholds && { thresholds }),
    clock,
    log: silentLog,
  });
  return { clock, state, removed, events, collector };
}

test("images go when the disk is 85 % full, the longest unused first, until it is at 80 %", async () => {
  const { clock, state, removed, events, collector } = node(
    [image("a", 60), image("b", 60), image("c", 60)],
    ["example/a:1"],
  );
  await collector.check(signal);
  await clock.advance(200_000);
  state.used = ["b"];
  await collector.check(signal);
  await clock.advance(200_000);
  state.used = [];
  state.availableBytes = 160;
  await collector.check(signal);
  assert.deepEqual(removed, [], "84 % is not too much");
  state.availableBytes = 100;
  await collector.check(signal);
  assert.deepEqual(removed, ["c", "a"]);
  assert.deepEqual(events, []);
});

test("images stay that are used, pinned, young, or could not be pulled again", async () => {
  const { clock, state, removed, events, collector } = node(
    [
      image("used"),
      image("pinned", 10, { isPinned: true }),
      image("pause"),
      image("loaded", 10, { names: ["localhost:5000/loaded:1"] }),
      image("both", 10, { names: ["example/both@sha256:0", "example/both:1", "localhost:5000/both:1"] }),
      image("old"),
      image("nameless", 10, { names: [] }),
    ],
    ["example/used:1"],
  );
  await collector.check(signal);
  await clock.advance(120_000);
  state.images = [...state.images, image("young")];
  state.availableBytes = 0;
  await collector.check(signal);
  assert.deepEqual(removed, ["old", "nameless"]);
  assert.match(
    events[0] ?? "",
    /^FreeDiskSpaceFailed Insufficient free disk space .* \(100% of 1000\.0 B used\)\. .*freed 20 bytes/,
  );
});

test("a node may be more patient", async () => {
  const { clock, state, removed, collector } = node([image("a", 60)], [], { highPercent: 98, lowPercent: 97 });
  await collector.check(signal);
  await clock.advance(200_000);
  state.availableBytes = 30;
  await collector.check(signal);
  assert.deepEqual(removed, []);
  state.availableBytes = 10;
  await collector.check(signal);
  assert.deepEqual(removed, ["a"]);
});
