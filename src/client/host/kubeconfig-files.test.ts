import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ManualClock, systemClock } from "#base/clock.ts";
import { withEntry } from "../kubeconfig.ts";
import { transportOptions } from "./connect.ts";
import { changeKubeconfig, kubeconfigPaths, kubeconfigToChange, loadKubeconfig } from "./kubeconfig-files.ts";

const folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
after(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const file = (name: string, text?: string): string => {
  const path = join(folder, name);
  if (text !== undefined) writeFileSync(path, text);
  return path;
};

test("the files are those kubectl would look at", () => {
  const env = { KUBECONFIG: "/a:/b::/a", HOME: "/home/me" };
  assert.deepEqual(kubeconfigPaths({ explicit: "/x", env }), ["/x"]);
  assert.deepEqual(kubeconfigPaths({ env }), ["/a", "/b"]);
  assert.deepEqual(kubeconfigPaths({ env: { HOME: "/home/me" } }), ["/home/me/.kube/config"]);
  const present = file("present", "");
  assert.equal(kubeconfigToChange({ env: { KUBECONFIG: `/nowhere/a:${present}:/nowhere/b` } }), present);
  assert.equal(kubeconfigToChange({ env: { KUBECONFIG: "/nowhere/a:/nowhere/b" } }), "/nowhere/b");
  assert.throws(() => kubeconfigToChange({ env: {} }), /neither KUBECONFIG nor HOME/);
});

test("a missing file is no error unless it was asked for", async () => {
  assert.equal((await loadKubeconfig({ env: { KUBECONFIG: "/nowhere" } })).clusters.length, 0);
  await assert.rejects(loadKubeconfig({ explicit: "/nowhere", env: {} }), /kubeconfig \/nowhere: no such file/);
});

test("a change is made whole, through links, and many at once lose nothing", async () => {
  const target = file("target", "clusters: [{name: old, cluster: {server: https://old}}]\n");
  const link = join(folder, "link");
  symlinkSync(target, link);
  const add = (name: string) =>
    changeKubeconfig(link, (config) => withEntry(config, name, { server: `https://${name}` }, {}), systemClock, signal);
  await Promise.all(["a", "b", "c"].map(add));
  const { clusters } = await loadKubeconfig({ explicit: link, env: {} });
  assert.deepEqual(clusters.map(({ name }) => name).sort(), ["a", "b", "c", "old"]);
  assert.equal(statSync(target).mode & 0o777, 0o600);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith("target")),
    ["target"],
  );
});

test("a lock that nobody gives back is named", async () => {
  const path = file("locked", "");
  file("locked.lock", "");
  const clock = new ManualClock();
  const change = changeKubeconfig(path, (config) => config, clock, signal);
  let isSettled = false;
  change
    .catch(() => undefined)
    .finally(() => {
      isSettled = true;
    });
  // Each try is a real system call, which takes as long as it takes; only the waiting in between is the clock's.
  while (!isSettled) await clock.advance(500);
  await assert.rejects(change, /is being changed by another program; delete .*locked\.lock/);
});

test("credentials come from the file or from what it names, and a token file is read again", async () => {
  const pem = "-----BEGIN CERTIFICATE-----\nx\n";
  const token = file("token", "one\n");
  const clock = new ManualClock();
  const { ca, authorization } = await transportOptions(
    {
      cluster: { server: "https://x", "certificate-authority-data": Buffer.from(pem).toString("base64") },
      user: { tokenFile: token },
      namespace: "default",
    },
    clock,
  );
  assert.equal(ca, pem);
  assert.equal(await authorization?.(), "Bearer one");
  file("token", "two\n");
  assert.equal(await authorization?.(), "Bearer one");
  await clock.advance(60_000);
  assert.equal(await authorization?.(), "Bearer two");
  const bad: readonly [object, object, RegExp][] = [
    [{ server: "http://x" }, {}, /only https/],
    [{ server: "https://x" }, { exec: {} }, /exec: command must be specified/],
    [{ server: "https://x", "certificate-authority": "/nowhere" }, {}, /certificate-authority: cannot read \/nowhere/],
    [{ server: "https://x", "certificate-authority-data": "eA==" }, {}, /certificate-authority-data: expected PEM/],
    [{ server: "https://x" }, { "client-certificate": token }, /belong together/],
  ];
  for (const [cluster, user, message] of bad)
    await assert.rejects(
      transportOptions({ cluster: cluster as { server: string }, user: user as never, namespace: "" }, clock),
      message,
    );
});
