import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { hasAppArmor } from "#base/host/app-armor.ts";
import { cniConfig, containerdConfig } from "./containerd-config.ts";

const paths = {
  folder: "/f",
  runFolder: "/r",
  socket: "/r/s",
  address: "172.31.0.10",
  prefersIpv6: false,
  pluginFolder: "/cni",
};

test("pods have an address of each family, and the first is of the first", () => {
  const { plugins } = JSON.parse(cniConfig(["fd00:10:244::/64", "10.244.0.0/24"], "/state"));
  assert.deepEqual(plugins[0].ipam.ranges, [[{ subnet: "fd00:10:244::/64" }], [{ subnet: "10.244.0.0/24" }]]);
  assert.deepEqual(plugins[0].ipam.routes, [{ dst: "::/0" }, { dst: "0.0.0.0/0" }]);
  const config = { ...paths, hasAppArmor: true };
  assert.match(containerdConfig({ ...config, prefersIpv6: true }), /^ {4}ip_pref = "ipv6"$/m);
  assert.doesNotMatch(containerdConfig(config), /ip_pref/);
});

test("containers are confined by AppArmor wherever the kernel has it", () => {
  assert.match(containerdConfig({ ...paths, hasAppArmor: true }), /^ {2}disable_apparmor = false$/m);
  assert.match(containerdConfig({ ...paths, hasAppArmor: false }), /^ {2}disable_apparmor = true$/m);
  const folder = mkdtempSync(join(tmpdir(), "knarr-apparmor-"));
  const parameter = join(folder, "enabled");
  assert.equal(hasAppArmor(parameter), false, "a kernel without has no such parameter");
  for (const [text, expected] of [
    ["Y\n", true],
    ["N\n", false],
  ] as const) {
    writeFileSync(parameter, text);
    assert.equal(hasAppArmor(parameter), expected);
  }
  rmSync(folder, { recursive: true });
});
