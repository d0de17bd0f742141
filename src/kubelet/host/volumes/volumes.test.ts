import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { explain } from "#base/errors.ts";
import { seededRandom } from "#base/random.ts";
import { world } from "#client/testing.ts";
import type { InputSources, PodContext } from "../../inputs/sources.ts";
import { podOf } from "../../testing.ts";
import { folderBytes } from "./folder-bytes.ts";
import { volumeKinds } from "./kinds/list.ts";
import { isMounted } from "./mounts.ts";
import { openBelow } from "./sub-path.ts";
import { Volumes } from "./volumes.ts";

const w = world();
const namespace = "default";
const settings = w.have(ConfigMap, { metadata: { name: "settings", namespace }, data: { COLOUR: "blue" } });
const hidden = w.have(Secret, { metadata: { name: "hidden", namespace }, data: { PASSWORD: btoa("geheim") } });
const noRoot = process.getuid?.() === 0 ? false : "only root may mount";
const place: PodContext = { podIps: ["10.244.0.5"], hostIps: [], allocatable: { memory: "1Gi" } };
const container = (volumeMounts: object[]) => ({ containers: [{ name: "c", image: "i", volumeMounts }] });

function atFolder(more: Partial<InputSources> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "knarr-volumes-"));
  let stamp = 0;
  const sources: InputSources = {
    configMap: async (_, name) => (name === "settings" ? settings : undefined),
    secret: async (_, name) => (name === "hidden" ? hidden : undefined),
    services: async () => [],
    knownServices: () => [],
    token: async () => "token",
    claim: async () => undefined,
    persistentVolume: async () => undefined,
    ...more,
  };
  const directories = { podsDirectory: join(folder, "pods"), memoryDirectory: join(folder, "memory") };
  const volumes = new Volumes({ ...directories, sources, stamp: () => String(stamp++) });
  const mountsOf = (spec: object, env?: { name: string; value: string }[]) => {
    const pod = podOf(spec);
    const [first] = pod.spec.containers;
    assert.ok(first);
    return volumes.mountsOf(pod, first, place, env);
  };
  return {
    ...directories,
    folder,
    volumes,
    mountsOf,
    async [Symbol.asyncDispose]() {
      await volumes.remove("u1");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test("volumes are folders with what they should hold, are written anew at once, and go with the pod", async () => {
  await using s = atFolder();
  const pod = podOf({
    hostname: "web-0",
    subdomain: "web",
    volumes: [
      { name: "conf", configMap: { name: "settings" } },
      { name: "hidden", secret: { secretName: "hidden" } },
      { name: "work", emptyDir: {} },
    ],
    ...container(["conf", "hidden", "work"].map((name) => ({ name, mountPath: `/${name}` }))),
  });
  await s.volumes.setUp(pod, place);
  const [conf, secret, work, hosts] = await s.mountsOf(pod.spec);
  assert.equal(readFileSync(join(conf?.hostPath ?? "", "COLOUR"), "utf8"), "blue");
  assert.equal(readFileSync(join(secret?.hostPath ?? "", "PASSWORD"), "utf8"), "geheim");
  assert.ok(secret?.hostPath.startsWith(s.memoryDirectory), "secrets are never on a disk");
  assert.deepEqual([conf?.readonly, secret?.readonly, work?.readonly], [true, true, false]);
  assert.equal(statSync(work?.hostPath ?? "").mode & 0o7777, 0o777);
  assert.match(
    readFileSync(hosts?.hostPath ?? "", "utf8"),
    /^10\.244\.0\.5\tweb-0\.web\.default\.svc\.cluster\.local\tweb-0$/m,
  );
  const before = readlinkSync(join(conf?.hostPath ?? "", "..data"));
  await s.volumes.refresh(pod, place);
  assert.equal(readlinkSync(join(conf?.hostPath ?? "", "..data")), before, "what is right is left alone");
  rmSync(join(conf?.hostPath ?? "", before), { recursive: true });
  await s.volumes.refresh(pod, place);
  assert.equal(readFileSync(join(conf?.hostPath ?? "", "COLOUR"), "utf8"), "blue", "what is lost is made again");
  mkdirSync(join(s.podsDirectory, "u1/containers/c"), { recursive: true });
  await s.volumes.tearDown("u1");
  assert.deepEqual(readdirSync(join(s.podsDirectory, "u1")), ["containers"], "what containers said is kept");
  assert.deepEqual(await s.volumes.pods(), ["u1"]);
  await s.volumes.remove("u1");
  assert.deepEqual(await s.volumes.pods(), []);
});

test("a start and a refresh of the same volume at once leave it whole", async () => {
  let tokens = 0;
  await using s = atFolder({ token: async () => `token ${tokens++}` });
  const projected = { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3600 } }] };
  const pod = podOf({
    volumes: [{ name: "access", projected }],
    ...container([{ name: "access", mountPath: "/access" }]),
  });
  for (let round = 0; round < 20; round++) {
    const [[mount]] = await Promise.all([
      s.mountsOf(pod.spec),
      s.volumes.refresh(pod, place),
      s.volumes.setUp(pod, place),
    ]);
    assert.equal(readFileSync(join(mount?.hostPath ?? "", "token"), "utf8"), `token ${tokens - 1}`);
  }
});

test("a volume that many want at once is made once", async () => {
  let round = 0;
  const changing = () =>
    w.have(ConfigMap, { metadata: { name: "settings", namespace }, data: { COLOUR: `${round++}` } });
  await using s = atFolder({ configMap: async () => changing() });
  const pod = podOf({ volumes: [{ name: "conf", configMap: { name: "settings" } }] });
  await Promise.all(Array.from({ length: 20 }, () => s.volumes.setUp(pod, place)));
  const folder = join(s.podsDirectory, "u1/volumes/kubernetes.io~configmap/conf");
  assert.equal(readFileSync(join(folder, "COLOUR"), "utf8"), "19", "the last one's is what stays");
  assert.equal(readdirSync(folder).length, 3, "the file, the link and the folder it leads to");
});

test("files of a pod with an fsGroup belong to the group", { skip: noRoot }, async () => {
  await using s = atFolder();
  const mounts = await s.mountsOf({
    securityContext: { fsGroup: 4242 },
    volumes: [
      { name: "hidden", secret: { secretName: "hidden", defaultMode: 0o400 } },
      { name: "work", emptyDir: {} },
    ],
    ...container(["hidden", "work"].map((name) => ({ name, mountPath: `/${name}` }))),
  });
  const [secret = "", work = ""] = mounts.map(({ hostPath }) => hostPath);
  const file = statSync(join(secret, "PASSWORD"));
  assert.deepEqual([file.gid, file.mode & 0o7777], [4242, 0o440]);
  assert.deepEqual([statSync(work).gid, statSync(work).mode & 0o7777], [4242, 0o2777]);
});

test("a volume in memory is as large as it may be, and no larger", { skip: noRoot }, async () => {
  await using s = atFolder();
  const spec = {
    volumes: [{ name: "fast", emptyDir: { medium: "Memory", sizeLimit: "64Ki" } }],
    ...container([{ name: "fast", mountPath: "/fast" }]),
  };
  const [{ hostPath = "" } = {}] = await s.mountsOf(spec);
  assert.throws(() => writeFileSync(join(hostPath, "big"), Buffer.alloc(200_000)), /ENOSPC/);
  rmSync(join(hostPath, "big"));
  writeFileSync(join(hostPath, "small"), "kept");
  await s.mountsOf(spec);
  assert.equal(readFileSync(join(hostPath, "small"), "utf8"), "kept", "what is mounted is not mounted again");
  await s.volumes.tearDown("u1");
  assert.equal(isMounted(hostPath), false);
});

test("a kubelet ends the mounts of volumes that one before it made", { skip: noRoot }, async () => {
  await using s = atFolder();
  const pod = podOf({
    ...container([
      { name: "fast", mountPath: "/fast" },
      { name: "fast", mountPath: "/part", subPath: "part" },
    ]),
    volumes: [{ name: "fast", emptyDir: { medium: "Memory" } }],
  });
  await s.volumes.setUp(pod, place);
  const [whole, part] = await s.mountsOf(pod.spec);
  assert.ok(whole && part && isMounted(whole.hostPath) && isMounted(part.hostPath));

  const { podsDirectory, memoryDirectory } = s;
  const noSources = undefined as unknown as InputSources; // nothing of a pod that is gone can be looked up
  const later = new Volumes({ podsDirectory, memoryDirectory, sources: noSources, stamp: () => "later" });
  await later.tearDown("u1");
  assert.deepEqual([isMounted(whole.hostPath), isMounted(part.hostPath)], [false, false]);
  assert.ok(!existsSync(join(podsDirectory, "u1", "volumes")));
});

test("each kind of volume has folders of its own, and no two support the same volume", () => {
  assert.equal(new Set(volumeKinds.map(({ folderName }) => folderName)).size, volumeKinds.length);
  const { volumes = [] } = podOf({
    volumes: [
      { name: "a", emptyDir: {} },
      { name: "b", hostPath: { path: "/b" } },
      { name: "c", configMap: { name: "c" } },
      { name: "d", secret: { secretName: "d" } },
      { name: "e", downwardAPI: {} },
      { name: "f", projected: { sources: [] } },
    ],
  }).spec;
  for (const volume of volumes)
    assert.equal(volumeKinds.filter((kind) => kind.supports({ volume })).length, 1, volume.name);
});

test("claims lead to folders of this machine, or to a reason", async (t: TestContext) => {
  const claim = (rest: object, phase = "Bound") =>
    w.have(PersistentVolumeClaim, {
      metadata: { name: "data", namespace, uid: "c1" },
      spec: { volumeName: "pv" },
      status: { phase: phase as "Bound" },
      ...rest,
    });
  const folder = mkdtempSync(join(tmpdir(), "knarr-local-"));
  const volume = (spec: object) =>
    w.have(PersistentVolume, { metadata: { name: "pv" }, spec: { claimRef: { uid: "c1" }, ...spec } });
  const cases: readonly [string, Partial<InputSources>, string | RegExp][] = [
    [
      "a local one",
      { claim: async () => claim({}), persistentVolume: async () => volume({ local: { path: folder } }) },
      folder,
    ],
    [
      "a path of the host",
      {
        claim: async () => claim({}),
        persistentVolume: async () => volume({ hostPath: { path: join(folder, "new") } }),
      },
      join(folder, "new"),
    ],
    [
      "a local one that is not there",
      { claim: async () => claim({}), persistentVolume: async () => volume({ local: { path: "/none/here" } }) },
      /path "\/none\/here" does not exist/,
    ],
    ["no claim", {}, /error processing PVC default\/data: failed to fetch PVC from API server: .* "data" not found/],
    [
      "a claim without a volume",
      { claim: async () => claim({}, "Pending") },
      /error processing PVC default\/data: PVC is not bound/,
    ],
    [
      "a volume of another claim",
      { claim: async () => claim({}), persistentVolume: async () => volume({ claimRef: { uid: "c2" } }) },
      /bound to another claim/,
    ],
  ];
  for (const [name, sources, expected] of cases)
    await t.test(name, async () => {
      await using s = atFolder(sources);
      const mounts = s.mountsOf({
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
        ...container([{ name: "data", mountPath: "/data" }]),
      });
      if (typeof expected === "string") assert.equal((await mounts)[0]?.hostPath, expected);
      else await assert.rejects(mounts, (error) => expected.test(explain(error)));
    });
  rmSync(folder, { recursive: true });
});

test("no path of a container leads out of its volume", { skip: noRoot }, async () => {
  await using s = atFolder();
  const mounts = (mount: object, env?: { name: string; value: string }[]) =>
    s.mountsOf(
      { volumes: [{ name: "work", emptyDir: {} }], ...container([{ name: "work", mountPath: "/work", ...mount }]) },
      env,
    );
  await mounts({ subPath: "fine/inner" });
  const root = join(s.podsDirectory, "u1/volumes/kubernetes.io~empty-dir/work");
  assert.ok(statSync(join(root, "fine/inner")).isDirectory());
  symlinkSync("fine", join(root, "within"));
  symlinkSync("/etc", join(root, "evil"));
  symlinkSync("/nowhere", join(root, "dangling"));
  writeFileSync(join(root, "fine/inner/file"), "content");
  const [found] = await mounts({ subPath: "within/inner" });
  assert.equal(readFileSync(join(found?.hostPath ?? "", "file"), "utf8"), "content");
  const [named] = await mounts({ subPathExpr: "fine/$(POD)" }, [{ name: "POD", value: "web" }]);
  assert.ok(statSync(named?.hostPath ?? "").isDirectory());
  assert.ok(existsSync(join(root, "fine/web")));
  for (const subPath of ["evil", "evil/knarr-new", "dangling", "dangling/x"])
    await assert.rejects(mounts({ subPath }), (error) => /leads out of its volume/.test(explain(error)), subPath);
  assert.ok(!existsSync("/etc/knarr-new"));
  assert.ok(!existsSync("/nowhere"));
});

test("an expression that gives no path within the volume keeps a container from its volume, in upstream's words", async () => {
  await using s = atFolder();
  const env = [
    { name: "EMPTY", value: "" },
    { name: "UP", value: ".." },
    { name: "ROOT", value: "/tmp" },
    { name: "POD", value: "web" },
  ];
  const messages: Readonly<Record<string, string>> = {
    "$(NONE)": "missing value for NONE",
    "$(EMPTY)/$(POD)": "missing value for EMPTY",
    "$(Z)$(B)/$(POD)/$(B)": "missing value for B, Z",
    "$(UP)": "unable to provision SubPath `..`: must not contain '..'",
    "a/$(UP)/b": "unable to provision SubPath `a/../b`: must not contain '..'",
    "$(ROOT)": "error SubPath `/tmp` must not be an absolute path",
    "/$(POD)": "error SubPath `/web` must not be an absolute path",
  };
  for (const [subPathExpr, message] of Object.entries(messages)) {
    const spec = {
      volumes: [{ name: "work", emptyDir: {} }],
      ...container([{ name: "work", mountPath: "/work", subPathExpr }]),
    };
    await assert.rejects(s.mountsOf(spec, env), { name: "InputMissing", message }, subPathExpr);
  }
  assert.deepEqual(readdirSync(join(s.podsDirectory, "u1/volumes/kubernetes.io~empty-dir/work")), []);
});

test("a link that is put in the way while a path is opened leads nowhere", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-attack-"));
  const random = seededRandom(3);
  const [inside, aside] = [join(folder, "a"), join(folder, "b")];
  mkdirSync(join(inside, "deep"), { recursive: true });
  let isOver = false;
  /** Swaps folder and link at random moments, as a container that shares the volume could. */
  const attack = async () => {
    const moment = async () => {
      for (let turns = random.below(4); turns >= 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    };
    const attempt = (swap: () => void) => {
      try {
        swap();
      } catch (error) {
        if (!/EEXIST|ENOENT|EISDIR|ENOTEMPTY/.test(String(error))) throw error; // the other side was there first
      }
    };
    for (; !isOver; await moment()) {
      attempt(() => rmSync(aside, { recursive: true, force: true }));
      attempt(() => renameSync(inside, aside));
      await moment();
      attempt(() => rmSync(inside, { recursive: true, force: true }));
      attempt(() => symlinkSync("/etc", inside));
      await moment();
      attempt(() => rmSync(inside, { recursive: true, force: true }));
      attempt(() => renameSync(aside, inside));
    }
  };
  const attacking = attack();
  const etc = statSync("/etc").ino;
  const found = { opened: 0, refused: 0 };
  for (let i = 0; i < 300; i++) {
    try {
      const handle = await openBelow(folder, random.below(2) ? "a" : "a/deep/new", "of the root");
      assert.ok(!readlinkSync(`/proc/self/fd/${handle.fd}`).startsWith("/etc"));
      assert.notEqual((await handle.stat()).ino, etc);
      await handle.close();
      found.opened++;
    } catch (error) {
      assert.match(String(error), /leads out of its volume|is not there|ENOENT|EEXIST/);
      found.refused++;
    }
  }
  isOver = true;
  await attacking;
  assert.ok(found.opened > 0 && found.refused > 0, JSON.stringify(found));
  assert.ok(!existsSync("/etc/deep"));
  rmSync(folder, { recursive: true });
});

test("what the runtime cannot make read-only with all that is mounted in it is refused", async () => {
  await using s = atFolder();
  const mount = { name: "v", mountPath: "/v", readOnly: true };
  const spec = (recursiveReadOnly: string) => ({
    ...container([{ ...mount, recursiveReadOnly }]),
    volumes: [{ name: "v", emptyDir: {} }],
  });
  assert.equal((await s.mountsOf(spec("IfPossible")))[0]?.readonly, true);
  await assert.rejects(s.mountsOf(spec("Enabled")), {
    message: 'volume "v" requested recursive read-only mode, but it is not supported by the runtime',
  });
});

test("a file of a volume is read, but nothing outside, and nothing that is no file", async () => {
  await using s = atFolder();
  const pod = podOf({ volumes: [{ name: "v", emptyDir: {} }] });
  const read = (path: string, volume = "v") => s.volumes.read(pod, volume, path, place);
  await assert.rejects(read("env"), /"env" is not there/);
  const folder = s.volumes.emptyFolder(pod, "v");
  mkdirSync(join(folder, "conf"));
  writeFileSync(join(folder, "conf/env"), "A='b'");
  writeFileSync(join(folder, "huge"), Buffer.alloc(2 ** 20 + 1));
  symlinkSync("conf/env", join(folder, "inside"));
  symlinkSync("/etc/passwd", join(folder, "outside"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  assert.equal(await read("conf/env"), "A='b'");
  assert.equal(await read("inside"), "A='b'");
  await assert.rejects(read("outside"), /leads out of its volume/);
  await assert.rejects(read("../volumes"), /leads out of its volume/);
  await assert.rejects(read("pipe"), { message: "pipe is no file" });
  await assert.rejects(read("conf"), { message: "conf is no file" });
  await assert.rejects(read("huge"), /more than 1048576 bytes/);
  await assert.rejects(read("env", "other"), { message: "volume other is not one of the pod's" });
});

test("what a folder takes is counted once for each file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-bytes-"));
  mkdirSync(join(folder, "inner"));
  writeFileSync(join(folder, "inner/file"), Buffer.alloc(100_000));
  const before = await folderBytes(folder);
  assert.ok(before >= 100_000 && before < 140_000, String(before));
  assert.equal(await folderBytes(join(folder, "none")), 0);
  rmSync(folder, { recursive: true });
});
