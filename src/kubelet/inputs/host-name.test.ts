import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Draft } from "#schema/infer.ts";
import { hostsFile, nodeHostsFile } from "../host/volumes/hosts-file.ts";
import { podOf } from "../testing.ts";
import { kernelNameOf } from "./host-name.ts";

const nameOf = (spec: Draft<PodSpec>, name = "web") =>
  kernelNameOf(podOf(spec, { metadata: { name } }), "cluster.local");

test("a pod is called by its name, unless it says otherwise", () => {
  assert.equal(nameOf({}), "web");
  assert.equal(nameOf({ hostname: "db" }), "db");
  assert.equal(nameOf({ hostname: "db", subdomain: "many" }), "db");
  assert.equal(nameOf({ subdomain: "many", setHostnameAsFQDN: true }), "web.many.default.svc.cluster.local");
  assert.equal(nameOf({ setHostnameAsFQDN: true }), "web");
  assert.equal(nameOf({ hostnameOverride: "any.name.at.all", subdomain: "many" }), "any.name.at.all");
  assert.equal(nameOf({ hostNetwork: true }), "");
  assert.equal(nameOf({}, `${"a".repeat(62)}-b`), "a".repeat(62));
  assert.throws(
    () => nameOf({ subdomain: "many", setHostnameAsFQDN: true }, "a".repeat(40)),
    /FQDN a+\.many\.default\.svc\.cluster\.local is too long \(64 characters is the max, 71 characters requested\)/,
  );
});

test("a hosts file has the names of the pod, and what it adds", () => {
  const hostAliases = [{ ip: "192.0.2.1", hostnames: ["one", "two"] }];
  const pod = podOf({ hostname: "db", subdomain: "many", hostAliases });
  const added = "\n# Entries added by HostAliases.\n192.0.2.1\tone\ttwo\n";
  const own = hostsFile(pod, ["10.0.0.2"], "cluster.local");
  assert.ok(own.endsWith(`ip6-allrouters\n10.0.0.2\tdb.many.default.svc.cluster.local\tdb\n${added}`), own);
  assert.equal(
    nodeHostsFile(pod, "127.0.0.1\tlocalhost\n"),
    `# Kubernetes-managed hosts file (host network).\n127.0.0.1\tlocalhost\n${added}`,
  );
});
