// exec, attach, port-forward, cp and logs of containers of a real runtime, by every way there is: an unmodified kubectl, our API server
// over HTTPS, the kubelet over TLS in its node's network, containerd.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { findKubectls } from "../apiserver/kubectls.ts";
import { image, impossible } from "./containerd.ts";
import { shell } from "./machine-node.ts";
import { collect, ServedNode, said } from "./served-node.ts";

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

test("streams of a real runtime", { skip: impossible, timeout: 240_000 }, async (t) => {
  await using node = await ServedNode.start();
  await node.pod("web", {
    containers: [{ name: "c", image, command: ["perl", "-e", server] }],
  });

  for (const { path: kubectl, version } of chosen) {
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
});
