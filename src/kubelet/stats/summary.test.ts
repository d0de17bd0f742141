import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Draft } from "#schema/infer.ts";
import { storageExcess } from "../storage-limits.ts";
import { podOf } from "../testing.ts";
import { type FsStats, networkStats, type PodStats, UsageRates } from "./summary.ts";

const time = "2026-01-01T00:00:00Z";
const holding = (usedBytes: number): FsStats => ({
  time,
  usedBytes,
  availableBytes: 0,
  capacityBytes: 0,
  inodes: 0,
  inodesFree: 0,
});

test("a rate is what was used between two looks, and none at first", () => {
  const rates = new UsageRates();
  assert.equal(rates.of("a", 0, 5_000_000), undefined);
  assert.equal(rates.of("a", 500, 9_000_000), undefined, "too soon to tell");
  assert.equal(rates.of("a", 2000, 1_005_000_000), 500_000_000);
  assert.equal(rates.of("a", 2500, 9_005_000_000), 500_000_000);
  assert.equal(rates.of("a", 4000, 0), undefined, "it was started anew");
  rates.keep(new Set(["b"]));
  assert.equal(rates.of("a", 9000, 10_000_000_000), undefined);
});

test("the network of a pod is read from the kernel's table", () => {
  const table = [
    "Inter-|   Receive                                                |  Transmit",
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed",
    "    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0",
    "  eth0: 1234567      10    2    0    0     0          0         0     7654      20    3    0    0     0       0          0",
  ].join("\n");
  const eth0 = { name: "eth0", rxBytes: 1_234_567, rxErrors: 2, txBytes: 7654, txErrors: 3 };
  assert.deepEqual(networkStats(table, time), { time, ...eth0, interfaces: [eth0] });
  assert.equal(networkStats("", time), undefined);
});

test("a pod that takes more of the disk than it may has to go, for upstream's reasons", () => {
  const limits = { "ephemeral-storage": "1Mi" };
  const two = (first: object, second: object): Draft<PodSpec> => ({
    containers: [
      { name: "a", image: "i", resources: first },
      { name: "b", image: "i", resources: second },
    ],
  });
  const measured = (volume: number, a: number, b: number): PodStats => ({
    podRef: { name: "web", namespace: "default", uid: "u1" },
    startTime: time,
    volume: [{ ...holding(volume), name: "work" }],
    containers: [
      { name: "a", startTime: time, rootfs: holding(a), logs: holding(0) },
      { name: "b", startTime: time, rootfs: holding(0), logs: holding(b) },
    ],
    "ephemeral-storage": holding(volume + a + b),
  });
  const mib = 2 ** 20;
  const work = (emptyDir: object) => ({ volumes: [{ name: "work", emptyDir }] });
  const table: readonly [Draft<PodSpec>, PodStats, string | undefined][] = [
    [{ ...two({}, {}), ...work({}) }, measured(9 * mib, 0, 0), undefined],
    [{ ...two({}, {}), ...work({ sizeLimit: "1Mi" }) }, measured(mib, 0, 0), undefined],
    [
      { ...two({}, {}), ...work({ sizeLimit: "1Mi" }) },
      measured(mib + 1, 0, 0),
      'Usage of EmptyDir volume "work" exceeds the limit "1Mi". ',
    ],
    [{ ...two({}, {}), ...work({ sizeLimit: "1Mi", medium: "Memory" }) }, measured(2 * mib, 0, 0), undefined],
    [two({ limits }, {}), measured(0, mib + 1, 0), 'Container a exceeded its local ephemeral storage limit "1Mi". '],
    [two({ limits }, {}), measured(0, 0, 9 * mib), undefined],
    [
      two({ limits }, { limits }),
      measured(2 * mib, 1, 0),
      "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ",
    ],
  ];
  for (const [spec, stats, expected] of table)
    assert.equal(storageExcess(podOf(spec), stats), expected, JSON.stringify(spec));
});
