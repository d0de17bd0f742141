// What the kubelet makes for containers has the same modes whatever mask its process was started with: a container that does not run as
// root must be able to read its files and to write where it may.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { world } from "#client/testing.ts";
import { podOf } from "../../testing.ts";
import { messageFile } from "../cri/last-words.ts";
import { PendingHooks } from "../cri/pending-hooks.ts";
import { Volumes } from "./volumes.ts";

const noRoot = process.getuid?.() === 0 ? false : "only root may mount";
const namespace = "default";
const w = world();
const place = { podIps: ["10.244.0.5"], hostIps: [], allocatable: { memory: "1Gi" } };
const settings = w.have(ConfigMap, {
  metadata: { name: "settings", namespace },
  data: { plain: "a", deep: "b", strict: "c" },
});
const hidden = w.have(Secret, { metadata: { name: "hidden", namespace }, data: { key: btoa("geheim") } });

const volumes = (host: string) => [
  {
    name: "conf",
    configMap: {
      name: "settings",
      items: [
        { key: "plain", path: "plain" },
        { key: "deep", path: "x/y/deep" },
        { key: "strict", path: "strict", mode: 0o400 },
      ],
    },
  },
  { name: "hidden", secret: { secretName: "hidden", defaultMode: 0o440 } },
  { name: "field", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
  { name: "access", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
  { name: "work", emptyDir: {} },
  { name: "fast", emptyDir: { medium: "Memory" as const, sizeLimit: "1Mi" } },
  { name: "host-folder", hostPath: { path: join(host, "made/inner"), type: "DirectoryOrCreate" as const } },
  { name: "host-file", hostPath: { path: join(host, "file"), type: "FileOrCreate" as const } },
];

/** Makes everything, and tells the mode of each thing by its path. */
async function modesUnder(mask: number, securityContext: object): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), "knarr-masks-"));
  const host = join(folder, "host");
  mkdirSync(host);
  const before = process.umask(mask);
  const sources = {
    configMap: async () => settings,
    secret: async () => hidden,
    services: async () => [],
    knownServices: () => [],
    token: async () => "token",
    claim: async () => undefined,
    persistentVolume: async () => undefined,
  };
  const pods = new Volumes({
    podsDirectory: join(folder, "pods"),
    memoryDirectory: join(folder, "memory"),
    sources,
    stamp: () => "state",
  });
  try {
    const all = volumes(host);
    const volumeMounts = [
      ...all.map(({ name }) => ({ name, mountPath: `/${name}` })),
      { name: "work", mountPath: "/part", subPath: "part/inner" },
    ];
    const containers = [{ name: "c", image: "i", volumeMounts }];
    const pod = podOf({ securityContext, volumes: all, containers });
    const [first] = pod.spec.containers;
    assert.ok(first);
    await pods.mountsOf(pod, first, place);
    await messageFile(join(folder, "pods"), "u1", "c", 0);
    await new PendingHooks(join(folder, "pods")).expect({ podUid: "u1", container: "c", attempt: 0 });
    return Object.fromEntries(modesBelow(folder));
  } finally {
    process.umask(before);
    await pods.remove("u1");
    rmSync(folder, { recursive: true, force: true });
  }
}

const modesBelow = (folder: string): [string, string][] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [relative(folder, path), (statSync(path).mode & 0o7777).toString(8)]);

const inVolumes = "pods/u1/volumes/kubernetes.io";
const inMemory = "memory/u1/volumes/kubernetes.io";
/** What containers see, with upstream's modes. */
const shown = {
  [`${inVolumes}~configmap/conf`]: "755",
  [`${inVolumes}~configmap/conf/..state`]: "755",
  [`${inVolumes}~configmap/conf/..state/plain`]: "644",
  [`${inVolumes}~configmap/conf/..state/x`]: "755",
  [`${inVolumes}~configmap/conf/..state/x/y`]: "755",
  [`${inVolumes}~configmap/conf/..state/x/y/deep`]: "644",
  [`${inVolumes}~configmap/conf/..state/strict`]: "400",
  [`${inMemory}~secret/hidden/..state/key`]: "440",
  [`${inMemory}~downward-api/field/..state/name`]: "644",
  [`${inMemory}~projected/access/..state/token`]: "644",
  [`${inVolumes}~empty-dir/work`]: "777",
  [`${inVolumes}~empty-dir/work/part`]: "777",
  [`${inVolumes}~empty-dir/work/part/inner`]: "777",
  [`${inVolumes}~empty-dir/fast`]: "777",
  "host/made": "755",
  "host/made/inner": "755",
  "host/file": "644",
  "pods/u1": "750",
  "pods/u1/etc-hosts": "644",
  "pods/u1/containers": "750",
  "pods/u1/containers/c/0": "666",
};
/** The same for a pod whose volumes belong to a group. */
const shownToGroup = {
  ...shown,
  [`${inVolumes}~configmap/conf`]: "2755",
  [`${inVolumes}~configmap/conf/..state`]: "2755",
  [`${inVolumes}~configmap/conf/..state/plain`]: "644",
  [`${inVolumes}~configmap/conf/..state/x`]: "2755",
  [`${inVolumes}~configmap/conf/..state/x/y`]: "2755",
  [`${inVolumes}~configmap/conf/..state/strict`]: "440",
  [`${inMemory}~projected/access/..state/token`]: "640",
  [`${inVolumes}~empty-dir/work`]: "2777",
  [`${inVolumes}~empty-dir/work/part`]: "2777",
  [`${inVolumes}~empty-dir/work/part/inner`]: "2777",
  [`${inVolumes}~empty-dir/fast`]: "2777",
};

for (const mask of [0, 0o022, 0o027, 0o077])
  test(`what containers see has upstream's modes under a mask of ${mask.toString(8)}`, { skip: noRoot }, async () => {
    const found = await modesUnder(mask, {});
    for (const [path, mode] of Object.entries(shown)) assert.equal(found[path], mode, path);
    const ofGroup = await modesUnder(mask, { fsGroup: 4242 });
    for (const [path, mode] of Object.entries(shownToGroup)) assert.equal(ofGroup[path], mode, path);
  });

test("a token belongs to whom all containers run as, and to nobody else", { skip: noRoot }, async () => {
  const found = await modesUnder(0o022, { runAsUser: 1234 });
  assert.equal(found[`${inMemory}~projected/access/..state/token`], "600");
});
