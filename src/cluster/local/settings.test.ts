import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { lockFolder } from "#base/host/folder-lock.ts";
import { parseFlags } from "#cli/flags.ts";
import { ClusterFolder, processLock } from "./cluster-folder.ts";
import { podRangeOf } from "./range-settings.ts";
import { changedSettings, newSettings, readSettings, settingFlags, writeSettings } from "./settings.ts";

const root = mkdtempSync(join(tmpdir(), "knarr-settings-"));
after(() => rmSync(root, { recursive: true, force: true }));
const asked = (...args: string[]) => parseFlags(settingFlags, ["--runtime=simulated", ...args]).flags;
const placeOf = (name: string) => new ClusterFolder({ name, "data-dir": root });

test("settings survive in the folder of the cluster", () => {
  const place = placeOf("kept");
  assert.equal(readSettings(place), undefined);
  assert.equal(place.exists, false);
  const settings = newSettings(asked("--nodes=5", "--store=memory"));
  writeSettings(place, settings);
  assert.deepEqual(readSettings(place), { ...settings, port: undefined });
  assert.equal(place.exists, true);
});

test("wrong settings are refused by the name of their flag", () => {
  for (const [args, message] of [
    [["--nodes=0"], /^--nodes: a number from 1 to 5000, not 0$/],
    [["--runtime=containerd", "--nodes=101"], /^--nodes: a number from 1 to 100, not 101$/],
    [["--node-range=172.31.0.0"], /^--node-range: "172.31.0.0" is not a network/],
    [["--runtime=docker"], /^--runtime: containerd or simulated, not "docker"$/],
    [["--store=disk"], /^--store: embedded or memory, not "disk"$/],
    [["--port=70000"], /^--port: a number up to 65535, not 70000$/],
    [["--service-cluster-ip-range=10.0.0.0"], /--service-cluster-ip-range/],
    [["--nodes=300", "--cluster-cidr=10.0.0.0/16"], /^--cluster-cidr: 10.0.0.0\/16 has room for 256 nodes, not 300$/],
    [
      ["--disable-admission-plugins=constructor"],
      /^--disable-admission-plugins: "constructor" is not an admission plugin$/,
    ],
    [["--cluster-cidr=10.0.0.0"], /^--cluster-cidr: "10.0.0.0" is not a network/],
    [["--ip-family=IPv6"], /^--ip-family: ipv4, ipv6, dual, not "IPv6"$/],
    [
      ["--ip-family=ipv6", "--cluster-cidr=10.0.0.0/16"],
      /^--cluster-cidr: 10.0.0.0\/16 has to be a network of IPv6, as/,
    ],
    [
      ["--cluster-cidr=10.0.0.0/16", "--service-cluster-ip-range=fd00::/112,10.1.0.0/16"],
      /^--cluster-cidr: 10.0.0.0\/16/,
    ],
    [
      ["--runtime=containerd", "--cluster-cidr=10.0.0.0/16,10.1.0.0/16"],
      /^--cluster-cidr: 10.0.0.0\/16,10.1.0.0\/16 has more than one network of a family$/,
    ],
    [
      ["--runtime=containerd", "--ip-family=dual", "--bind-address=0.0.0.0"],
      /^--bind-address: 0.0.0.0 lets other machines join, which clusters with IPv6 cannot have yet/,
    ],
    [["--control-plane=pod"], /^--control-plane: process or pods, not "pod"$/],
    [["--control-plane=pods"], /^--control-plane: pods need real containers/],
    [["--runtime=containerd", "--control-plane=pods", "--store=memory"], /^--control-plane: a pod .* --store memory/],
    [["--runtime=containerd", "--control-plane=pods", "--bind-address=0.0.0.0"], /^--control-plane: .* other machines/],
    [
      ["--runtime=containerd", "--control-plane=pods", "--etcd-servers=https://127.0.0.1:2379"],
      /^--control-plane: .* https:\/\/127.0.0.1:2379 is not there/,
    ],
    [["--nodes=300", "--cluster-cidr=fd00::/56"], /^--cluster-cidr: fd00::\/56 has room for 256 nodes, not 300$/],
  ] as const)
    assert.throws(() => newSettings(asked(...args)), { name: "UsageError", message });
});

test("families follow from the flag, or from the ranges that are given, in their order", () => {
  const rangesOf = (...args: readonly string[]) => {
    const settings = newSettings(asked(...args));
    return [settings["ip-family"], settings["cluster-cidr"], settings["service-cluster-ip-range"]];
  };
  assert.deepEqual(rangesOf(), ["ipv4", "10.244.0.0/16", "10.96.0.0/16"]);
  assert.deepEqual(rangesOf("--ip-family=dual"), [
    "dual",
    "10.244.0.0/16,fd00:10:244::/56",
    "10.96.0.0/16,fd00:10:96::/112",
  ]);
  assert.deepEqual(rangesOf("--cluster-cidr=fd01::/56"), ["ipv6", "fd01::/56", "fd00:10:96::/112"]);
  const wide = ["dual", "fd00:10:128::/48,10.128.0.0/9", "fd01::/112,10.96.0.0/16"];
  assert.deepEqual(rangesOf("--nodes=300", "--service-cluster-ip-range=fd01::/112,10.96.0.0/16"), wide);
  assert.equal(podRangeOf("10.244.0.0/16,fd00:10:244::/56", 2), "10.244.2.0/24,fd00:10:244:2::/64");
});

test("files are kept by their whole path", () => {
  assert.equal(newSettings(asked("--etcd-cafile=ca.crt"))["etcd-cafile"], join(process.cwd(), "ca.crt"));
});

test("a large cluster gets a larger range of pods", () => {
  assert.equal(newSettings(asked("--nodes=256"))["cluster-cidr"], "10.244.0.0/16");
  assert.equal(newSettings(asked("--nodes=5000"))["cluster-cidr"], "10.128.0.0/9");
});

test("a stopped cluster may get more nodes and another port, but no other store", () => {
  const place = placeOf("stopped");
  const before = newSettings(asked("--nodes=3"));
  writeSettings(place, before);
  assert.deepEqual(changedSettings(before, asked(), place), before);
  assert.equal(changedSettings(before, asked("--nodes=4", "--port=7000"), place).nodes, 4);
  assert.throws(() => changedSettings(before, asked("--nodes=2", "--store=memory"), place), {
    name: "UsageError",
    message:
      'cluster "stopped" is there already with other settings: --nodes is 3, not 2; --store is embedded, not memory. Run "knarr down --name=stopped" first to make it anew, or choose another --name',
  });
});

test("a running cluster changes nothing, and says how it could", () => {
  const place = placeOf("running");
  const before = newSettings(asked("--nodes=3"));
  writeSettings(place, before);
  const lock = lockFolder(place.folder, processLock, "cluster");
  assert.equal(place.process?.pid, process.pid);
  assert.deepEqual(changedSettings(before, asked("--nodes=3"), place), before);
  assert.throws(
    () => changedSettings(before, asked("--nodes=4"), place),
    /Run "knarr stop --name=\S+" first to change that/,
  );
  lock.release();
  assert.equal(place.process, undefined);
});

test("a cluster's name is a label", () => {
  assert.throws(() => placeOf("../etc"), { name: "UsageError" });
  assert.throws(() => placeOf(""), { name: "UsageError" });
});
