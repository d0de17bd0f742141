// exec, attach, port-forward, cp and logs of containers of a real runtime, by every way there is: an unmodified kubectl, our API server
// over HTTPS, the kubelet over TLS in its node's network, containerd.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import { findKubectls, minorOf } from "../apiserver/kubectls.ts";
import { ourProgram } from "../kubectl/ours.ts";
import { terminalTests } from "../kubectl/terminal.ts";
import { image, impossible } from "./containerd.ts";
import { shell } from "./machine-node.ts";
import { collect, ServedNode, said } from "./served-node.ts";
import { spoken } from "./spoken.ts";

const { signal } = new AbortController();
const kubectls = impossible ? [] : findKubectls();
/** The oldest speaks SPDY, the newest WebSocket. */
const chosen = kubectls.length < 2 ? kubectls : [kubectls[0]!, kubectls.at(-1)!];

/** Reads a number, then so many bytes, answers with a megabyte, and closes. */
const server = `
socket(S, 2, 1, 6); setsockopt(S, 1, 2, pack("l", 1));
bind(S, pack("S n a4 x8", 2, 8080, "\\x7f\\0\\0\\x01")) or die; listen(S, 100);
$SIG{CHLD} = "IGNORE";
while (1) {
  accept(C, S) or next;
  if (fork) { close C; next }
  my $head = ""; while ($head !~ /\\n/) { sysread(C, $head, 1, length $head) or exit 1 }
  my $left = $head + 0; while ($left > 0) { my $got = sysread(C, my $b, 65536) or exit 1; $left -= $got }
  my $out = "read $head" . ("x" x 1000000); my $at = 0;
  while ($at < length $out) { my $w = syswrite(C, $out, 65536, $at) or exit 1; $at += $w }
  exit 0;
}`;

/** Answers each request with its first line. */
const httpServer = `
socket(S, 2, 1, 6); bind(S, pack("S n a4 x8", 2, 8081, "\\0\\0\\0\\0")) or die; listen(S, 100);
while (accept(C, S)) {
  my $in = ""; while ($in !~ /\\r\\n\\r\\n/) { sysread(C, $in, 4096, length $in) or last }
  $in =~ /^(.*?\\r\\n)/; syswrite(C, "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n$1"); close C;
}`;

const skip = impossible || (kubectls.length === 0 && "no kubectl is installed");

test("streams of a real runtime", { skip }, async (t) => {
  await using node = await ServedNode.start();
  await node.pod("web", {
    containers: [{ name: "web", image, command: ["perl", "-e", server] }],
  });

  using ours = ourProgram();
  for (const { path: kubectl, version } of [...chosen, { path: ours.path, version: "of-ours" }]) {
    const run = (args: readonly string[], input?: string | Buffer) => node.run(kubectl, args, input);

    await t.test(`kubectl ${version} exec: output, input, exit codes, bulk both ways`, async () => {
      const plain = await run(["exec", "web", "--", "sh", "-c", "echo out; echo err >&2"]);
      assert.deepEqual([plain.code, String(plain.stdout), plain.stderr], [0, "out\n", "err\n"]);
      const failing = await run(["exec", "web", "--", "sh", "-c", "exit 7"]);
      assert.deepEqual([failing.code, failing.stderr], [7, "command terminated with exit code 7\n"]);
      const after = await run(["exec", "-i", "web", "--", "sh", "-c", "cat; echo done"], "through and back ");
      assert.deepEqual([after.code, String(after.stdout)], [0, "through and back done\n"]);
      const missing = await run(["exec", "web", "--", "/no/such/program"]);
      assert.notEqual(missing.code, 0);
      assert.match(missing.stderr, /no such file or directory/);
      const bulk = Buffer.alloc(8_000_000, "0123456789abcdef");
      const back = await run(["exec", "-i", "web", "--", "cat"], bulk);
      assert.equal(back.code, 0, back.stderr);
      assert.ok(back.stdout.equals(bulk), `${back.stdout.length} bytes came back`);
      const early = await run(["exec", "-i", "web", "--", "head", "-c", "4"], bulk.subarray(0, 40_000));
      assert.deepEqual([early.code, String(early.stdout), early.stderr], [0, "0123", ""]);
    });

    await t.test(`kubectl ${version} exec with a terminal that has a size`, async () => {
      const script = 'until [ "$(stty size)" = "33 77" ]; do sleep 0.05; done; stty size; tty=1; exit 3';
      const inner = `stty cols 77 rows 33; ${kubectl} exec -it web -- sh -c '${script}'`;
      const { code, stdout } = await node.run("script", ["-qec", inner, "/dev/null"]);
      assert.match(String(stdout), /33 77\r\n/);
      assert.equal(code, 3);
    });

    await t.test(`kubectl ${version} attach hears what is said and is heard`, async () => {
      const name = `attached-${version.replace(".", "-")}`;
      const echo = 'while read line; do echo "heard $line"; [ "$line" = end ] && exit 0; done';
      await node.pod(name, { restartPolicy: "Never", ...shell(echo, { stdin: true, stdinOnce: true }) });
      const child = node.start(kubectl, ["attach", "-i", name]);
      child.stdin?.write("one\n");
      await said(child, /heard one/);
      child.stdin?.write("end\n");
      await said(child, /heard end/);
      const code = await new Promise((resolve) => child.once("close", resolve));
      assert.equal(code, 0);
      await node.machine.untilPod(name, ({ status }) => status.phase === "Succeeded");
    });

    await t.test(`kubectl ${version} port-forward: many connections, closed by either side`, async () => {
      const child = node.start(kubectl, ["port-forward", "web", ":8080", "--address", "127.0.0.1"]);
      const [, port] = await said(child, /Forwarding from 127\.0\.0\.1:(\d+)/);
      const ask = async (bytes: number) => {
        const socket = connect({ port: Number(port), host: "127.0.0.1", allowHalfOpen: true });
        socket.write(`${bytes}\n`);
        socket.write(Buffer.alloc(bytes, "y"));
        const answer = await collect(socket);
        socket.end();
        return answer;
      };
      const sizes = [0, 1, 100_000, 3_000_000, 5, 6, 7, 8];
      const answers = await Promise.all(sizes.map(ask));
      assert.deepEqual(
        answers.map((answer) => [answer.subarray(0, answer.indexOf("\n")).toString(), answer.length]),
        sizes.map((size) => [`read ${size}`, 1_000_000 + `read ${size}\n`.length]),
      );
      child.kill("SIGTERM");
      const deaf = node.start(kubectl, ["port-forward", "web", ":1", "--address", "127.0.0.1"]);
      const [, closed] = await said(deaf, /Forwarding from 127\.0\.0\.1:(\d+)/);
      const told = said(deaf, /error forwarding port 1 to pod .*refused/);
      await assert.rejects(fetch(`http://127.0.0.1:${closed}/`));
      await told;
      deaf.kill("SIGTERM");
    });

    await t.test(`kubectl ${version} cp there and back`, async () => {
      const [from, back] = [join(node.folder, "from"), join(node.folder, "back")];
      writeFileSync(from, Buffer.alloc(3_000_000, "copy"));
      const up = await run(["cp", from, "web:/there"]);
      assert.equal(up.code, 0, up.stderr);
      const down = await run(["cp", "web:/there", back]);
      assert.equal(down.code, 0, down.stderr);
      assert.ok(readFileSync(from).equals(readFileSync(back)));
    });
  }

  await terminalTests(t, node, ours.path);

  if (minorOf(chosen.at(-1)?.version ?? "") >= 31) assert.ok(node.upgrades.has("websocket"), "passed on as it came");
  const kubectl = chosen.at(-1)?.path ?? "kubectl";
  const logs = async (...args: string[]) => String((await node.run(kubectl, ["logs", ...args])).stdout);

  await t.test("logs: all, the tail, of the run before, with times, so many bytes, and refusals", async () => {
    // What comes over two streams has no order: the first run uses one, the second the other.
    const count =
      "[ -e /kept/again ] && echo again >&2 || { echo > /kept/again; echo one; echo two; printf three; exit 3; }";
    const kept = { volumes: [{ name: "kept", emptyDir: {} }] };
    const mount = { volumeMounts: [{ name: "kept", mountPath: "/kept" }] };
    const hasRestarted = ({ status }: Pod) =>
      status.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].state.running !== undefined;
    await node.pod("logged", { ...shell(`${count}; exec sleep 1000`, mount), ...kept }, hasRestarted);
    await node.machine.until(async () => (await logs("logged")) === "again\n", "what it says");
    assert.equal(await logs("logged", "--previous"), "one\ntwo\nthree");
    assert.equal(await logs("logged", "--previous", "--tail=1"), "three");
    assert.equal(await logs("logged", "--limit-bytes=3"), "aga");
    assert.equal(await logs("logged", "--since=1h"), "again\n");
    assert.match(await logs("logged", "--timestamps"), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}\S+ again\n$/);
    const { stderr } = await node.run(kubectl, ["logs", "web", "--previous"]);
    assert.match(stderr, /previous terminated container "web" in pod "web" not found/);
  });

  await t.test("logs are followed until the container ends", async () => {
    await node.pod("ticking", {
      restartPolicy: "Never",
      ...shell("for i in 1 2 3; do echo tick $i; sleep 0.1; done; read line; echo over", {
        stdin: true,
        stdinOnce: true,
      }),
    });
    const following = node.run(kubectl, ["logs", "-f", "ticking"]);
    const first = node.start(kubectl, ["logs", "-f", "ticking"]);
    await said(first, /tick 3/);
    first.kill("SIGTERM");
    await node.run(kubectl, ["attach", "-i", "ticking"], "go\n");
    const { stdout, code } = await following;
    assert.deepEqual([code, String(stdout)], [0, "tick 1\ntick 2\ntick 3\nover\n"]);
  });

  await t.test("what a pod and a node serve is reached through the API server", async () => {
    await node.pod("http", { containers: [{ name: "http", image, command: ["perl", "-e", httpServer] }] });
    const raw = async (path: string) => {
      const { stdout, stderr } = await node.run(kubectl, ["get", "--raw", `/api/v1/${path}`]);
      return String(stdout) || stderr;
    };
    const pods = "namespaces/default/pods";
    await node.machine.until(async () => (await raw(`${pods}/http:8081/proxy/`)).startsWith("GET"), "the server");
    assert.equal(await raw(`${pods}/http:8081/proxy/a/b?c=d`), "GET /a/b?c=d HTTP/1.1\r\n");
    assert.equal(await raw("nodes/n1/proxy/healthz"), "ok");
    assert.match(await raw("nodes/n1/proxy/runningpods/"), /"name":"http"/);
    assert.match(
      await raw("nodes/n1/proxy/configz"),
      /^\{"kubeletconfig":\{"kind":"KubeletConfiguration".*"port":10250/,
    );
    assert.match(await raw("nodes/n1/proxy/metrics"), /kubelet_http_requests_total/);
    assert.match(await raw("nodes/n1/proxy/metrics/resource"), /container_memory_working_set_bytes\{container="web"/);
    assert.match(
      await raw(`${pods}/http:1/proxy/`),
      /error trying to reach service: dial tcp \S+:1: connect: connection refused/,
    );
  });

  await t.test(
    "the kubelet itself, over SPDY: a terminal whose size changes, and what it is given ends it",
    async () => {
      const outcome = spoken(node, "/exec/default/web/web", { tty: "1", input: "1", output: "1" }, ["sh"]);
      const { io, heard, status } = outcome;
      io.type("stty -echo\n");
      for (const [width, height] of [
        [100, 40],
        [61, 17],
      ] as const) {
        io.resize({ width, height });
        // Sizes and what is typed travel apart: either may come first.
        const isSet = async () => {
          io.type("stty size\n");
          return heard.has(`${height} ${width}`);
        };
        await node.machine.until(isSet, `a terminal of ${width} by ${height}`);
      }
      io.type("exit 9\n");
      assert.deepEqual((await status).details?.causes, [{ reason: "ExitCode", message: "9" }]);
    },
  );

  await t.test("a client that leaves takes the command along that reads from it", async () => {
    const isThere = async () =>
      String((await node.run(kubectl, ["exec", "web", "--", "sh", "-c", listing])).stdout).includes("a-marker");
    const child = node.start(kubectl, ["exec", "-i", "web", "--", "sh", "-c", "cat; : a-marker"]);
    await node.machine.until(isThere, "the command");
    child.kill("SIGKILL");
    await node.machine.until(async () => !(await isThere()), "the end of the command");
  });

  await t.test("a client that does not read holds up its command", async () => {
    const script = "head -c 30000000 /dev/zero; echo > /written";
    const slow = spoken(node, "/exec/default/web/web", { output: "1" }, ["sh", "-c", script]);
    slow.heard.pause();
    const isWritten = async () =>
      (await node.run(kubectl, ["exec", "web", "--", "sh", "-c", "[ -e /written ]"])).code === 0;
    await slow.heard.until(/\0/);
    assert.equal(await isWritten(), false);
    slow.heard.resume();
    assert.equal((await slow.status).status, "Success");
    assert.equal(slow.heard.size, 30_000_000);
    assert.equal(await isWritten(), true);
  });

  await t.test("many commands at once", async () => {
    const numbers = Array.from({ length: 12 }, (_, i) => i);
    const heard = await Promise.all(
      numbers.map(async (i) => {
        const script = `head -c ${i * 1000} /dev/zero; exit ${i}`;
        const one = spoken(node, "/exec/default/web/web", { output: "1" }, ["sh", "-c", script]);
        const { details } = await one.status;
        return [Number(details?.causes[0]?.message ?? 0), one.heard.size];
      }),
    );
    assert.deepEqual(
      heard,
      numbers.map((i) => [i, i * 1000]),
    );
  });

  await t.test("what is not there is told before anything is upgraded", async () => {
    const ask = async (method: string, url: string, headers = {}) => {
      const { code, body } = await node.kubelet.handle({ method, url, headers, signal });
      return [code, body];
    };
    const { uid } = (await node.machine.pod("web"))?.metadata ?? {};
    const table: readonly (readonly [string, string, number, string])[] = [
      ["POST", "/exec/default/none/web?output=1", 404, "pod does not exist"],
      ["POST", "/exec/default/web/none?output=1", 500, 'container not found ("none")'],
      ["POST", "/exec/default/web/other-uid/web?output=1", 500, 'container not found ("web")'],
      ["POST", "/exec/default/web/web", 400, "you must specify at least 1 of stdin, stdout, stderr"],
      ["PUT", "/exec/default/web/web?output=1", 405, "405: Method Not Allowed"],
      ["GET", "/exec/default/web", 404, "404 page not found\n"],
      ["POST", "/portForward/default/none", 404, "pod does not exist"],
      ["POST", "/portForward/default/web/other-uid", 404, "pod not found"],
      ["GET", "/containerLogs/default/web/none", 404, 'container "none" not found in pod "web"'],
      ["GET", "/containerLogs/default/none/web", 404, 'pod "none" does not exist'],
      ["GET", "/logs/syslog", 405, "logs endpoint is disabled.\n"],
      ["GET", "/none", 404, "404 page not found\n"],
      ["GET", "/%zz", 400, "the path is not escaped properly"],
    ];
    for (const [method, url, code, body] of table) assert.deepEqual(await ask(method, url), [code, body], url);
    const said = await node.kubelet.handle({
      method: "POST",
      url: `/run/default/web/${uid}/web?cmd=cat+/etc/hostname`,
      headers: {},
      signal,
    });
    assert.deepEqual([said.code, Buffer.from(said.body as Uint8Array).toString()], [200, "web\n"]);
  });
});

/** What processes there are in a container, by its own shell. */
const listing = "for p in /proc/[0-9]*/cmdline; do cat $p 2>/dev/null; done";
