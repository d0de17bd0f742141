import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { hasAppArmor } from "#base/host/app-armor.ts";
import { containerdConfig } from "./containerd-config.ts";

const paths = { folder: "/f", runFolder: "/r", socket: "/r/s", address: "172.31.0.10", pluginFolder: "/cni" };

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
