import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterFolder } from "../local/cluster-folder.ts";
import { unitPath, unitText } from "./unit.ts";

test("a unit starts and stops one cluster, with words that systemd leaves as they are", () => {
  const place = new ClusterFolder({ name: "blue", "data-dir": "/data/100% mine" });
  assert.equal(unitPath(place), "/etc/systemd/system/knarr-blue.service");
  const lines = unitText(place, ["/opt/knarr/knarr"]).split("\n");
  const where = '"--name=blue" "--data-dir=/data/100%% mine"';
  assert.ok(lines.includes(`ExecStart="/opt/knarr/knarr" "start" "--no-install" "--timeout=9m" ${where}`));
  assert.ok(lines.includes(`ExecStop="/opt/knarr/knarr" "stop" ${where}`));
  assert.ok(lines.includes("WantedBy=multi-user.target"));
});
