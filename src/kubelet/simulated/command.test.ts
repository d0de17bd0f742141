import assert from "node:assert/strict";
import { test } from "node:test";
import { podOf } from "../testing.ts";
import { answerCommand } from "./command.ts";

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
