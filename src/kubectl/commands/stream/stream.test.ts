import assert from "node:assert/strict";
import { test } from "node:test";
import { archivePrefix, fileSpec } from "./cp.ts";
import { listenAddresses, parsePort } from "./forwarded-ports.ts";
import { detachKeys, untilDetached } from "./terminal.ts";

test("files are of this machine or of a pod", () => {
  assert.deepEqual(fileSpec("shop/web:/var/log/"), { namespace: "shop", pod: "web", path: "/var/log" });
  assert.deepEqual(fileSpec("web:/"), { namespace: "", pod: "web", path: "/" });
  assert.deepEqual(fileSpec("./a"), { namespace: "", pod: "", path: "./a" });
  assert.throws(() => fileSpec(":/a"), /canonical format/);
  assert.throws(() => fileSpec("a/b/c:/a"), /canonical format/);
});

test("a remote path cannot name what is above the root", () => {
  const prefixes = ["/var/log", "../../etc/passwd", "/", ".", "..", "a/../../b", "//x//y"].map(archivePrefix);
  assert.deepEqual(prefixes, ["var/log", "etc/passwd", "", "", "", "b", "x/y"]);
});

const pod = {
  kind: "Pod",
  metadata: { name: "p" },
  spec: {
    containers: [
      {
        ports: [
          { name: "http", containerPort: 8080 },
          { containerPort: 53, protocol: "UDP" },
        ],
      },
    ],
  },
};
const service = (spec: object) => ({ kind: "Service", metadata: { name: "s" }, spec });

test("ports lead to where the pod listens", () => {
  const web = service({
    ports: [
      { name: "web", port: 80, targetPort: "http" },
      { port: 443, targetPort: 8443 },
    ],
  });
  assert.deepEqual(parsePort("5000:6000", pod, pod), { local: 5000, remote: 6000 });
  assert.deepEqual(parsePort("http", pod, pod), { local: 8080, remote: 8080 });
  assert.deepEqual(parsePort(":http", pod, pod), { local: 0, remote: 8080 });
  assert.deepEqual(parsePort("80", web, pod), { local: 80, remote: 8080 });
  assert.deepEqual(parsePort("web", web, pod), { local: 80, remote: 8080 });
  assert.deepEqual(parsePort("1:443", web, pod), { local: 1, remote: 8443 });
  const headless = service({ clusterIP: "None", ports: [{ port: 80, targetPort: 9 }] });
  assert.deepEqual(parsePort("80", headless, pod), { local: 80, remote: 80 });
  for (const [text, object, why] of [
    ["1:2:3", pod, /invalid port format '1:2:3'/],
    ["x:80", pod, /error parsing local port 'x': strconv.ParseUint: parsing "x": invalid syntax/],
    ["80:", pod, /remote port cannot be empty/],
    ["99999", pod, /value out of range/],
    ["0", pod, /remote port must be > 0/],
    ["nope", pod, /Pod 'p' does not have a named port 'nope'/],
    ["nope", web, /Service 's' does not have a named port 'nope'/],
    ["81", web, /Service s does not have a service port 81/],
    ["53", pod, /UDP protocol is not supported for 53/],
  ] as const)
    assert.throws(() => parsePort(text, object, pod), why);
});

test("localhost is either of its addresses, any other must be one", () => {
  assert.deepEqual(
    listenAddresses(["localhost"]).map(({ host, isOptional }) => [host, isOptional]),
    [
      ["127.0.0.1", true],
      ["::1", true],
    ],
  );
  assert.deepEqual(listenAddresses(["10.0.0.1", "127.0.0.1"]).length, 2);
  assert.throws(() => listenAddresses(["example"]), /example is not a valid IP/);
});

test("what is typed passes until the keys to leave come in a row", async () => {
  const typed = async (...parts: readonly string[]) => {
    let isDetached = false;
    const input = (async function* () {
      for (const part of parts) yield Buffer.from(part, "latin1");
    })();
    const passed: Uint8Array[] = [];
    for await (const part of untilDetached(input, detachKeys("ctrl-p,ctrl-q"), () => (isDetached = true)))
      passed.push(part);
    return [Buffer.concat(passed).toString("latin1"), isDetached];
  };
  assert.deepEqual(await typed("ab", "c"), ["abc", false]);
  assert.deepEqual(await typed("a\x10\x11b"), ["a", true]);
  assert.deepEqual(await typed("a\x10", "\x11b"), ["a", true]);
  assert.deepEqual(await typed("a\x10b\x11"), ["a\x10b\x11", false]);
  assert.deepEqual(await typed("\x10\x10\x11"), ["\x10", true]);
  assert.throws(() => detachKeys("ctrl-p,meta-q"), /Unknown character: 'meta-q'/);
});
