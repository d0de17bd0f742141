import assert from "node:assert/strict";
import { test } from "node:test";
import { podOf } from "../testing.ts";
import { answerCommand, isShell, runShell } from "./command.ts";

test("simulated containers answer a few commands, and say so of the others", () => {
  const pod = podOf({ containers: [{ name: "web", image: "nginx", env: [{ name: "A", value: "1" }] }] });
  const [container] = pod.spec.containers;
  const table: readonly [string[], number, string | RegExp][] = [
    [["echo", "a", "b"], 0, "a b\n"],
    [["/bin/echo", "a"], 0, "a\n"],
    [["hostname"], 0, "web\n"],
    [["env"], 0, "A=1\n"],
    [["false"], 1, ""],
    [["sh", "-c", "echo hello"], 0, "hello\n"],
    [["sh", "-c", "echo $HOME"], 127, /simulated/],
    [["sh", "-c", "sh -c sh"], 127, /simulated/],
    [["constructor"], 127, /^constructor: this container is simulated; it knows echo/],
    [[], 127, /simulated/],
  ];
  for (const [command, exitCode, output] of table) {
    const answer = answerCommand(command, { pod, container: container! });
    assert.equal(answer.exitCode, exitCode, command.join(" "));
    if (typeof output === "string") assert.equal(answer.output, output);
    else assert.match(answer.output, output);
  }
});

test("a simulated shell runs what is typed, line by line, and ends when nothing more comes", async () => {
  const session = async (...parts: readonly string[]) => {
    let out = "";
    const write = async (bytes: Uint8Array) => {
      out += new TextDecoder().decode(bytes);
    };
    async function* stdin() {
      for (const part of parts) yield new TextEncoder().encode(part);
    }
    const code = await runShell({ stdin: stdin(), stdout: write, stderr: undefined }, {});
    return `${code} ${out}`;
  };
  assert.equal(await session(), "0 ");
  assert.equal(await session("echo a\necho", " b\r", "true"), "0 a\nb\n");
  assert.equal(await session("false\n"), "1 ");
  assert.equal(await session("echo a\nexit 3\necho b\n"), "3 a\n");
  assert.equal(await session("echo a\r\u0004echo b\r"), "0 a\n");
  assert.match(await session("ls /\n"), /^127 ls: this container is simulated/);
});

test("a container whose process is a shell that reads is known by its command", () => {
  const shell = (container: object) =>
    isShell(podOf({ containers: [{ name: "c", image: "i", ...container }] }).spec.containers[0]!);
  assert.equal(shell({ stdin: true, command: ["/bin/sh"] }), true);
  assert.equal(shell({ stdin: true, args: ["bash"] }), true);
  assert.equal(shell({ stdin: true }), true, "images to look around with have one");
  assert.equal(shell({ command: ["sh"] }), false, "it has nothing to read");
  assert.equal(shell({ stdin: true, command: ["sh", "-c", "sleep 1"] }), false);
  assert.equal(shell({ stdin: true, command: ["nginx"] }), false);
});
