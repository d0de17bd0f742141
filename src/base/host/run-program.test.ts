import assert from "node:assert/strict";
import { test } from "node:test";
import { ProgramFailed, programPath, runProgram } from "./run-program.ts";

test("programs of the system are found though the path leaves their folders out", () => {
  assert.equal(
    programPath("/home/me/bin:/usr/bin"),
    "/home/me/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
  );
  assert.equal(programPath(undefined), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
});

test("a program gives what it wrote, or says why it failed", async () => {
  assert.equal(await runProgram(["cat"], { input: "words" }), "words");
  await assert.rejects(runProgram(["sh", "-c", "echo no >&2; exit 3"]), (error) => {
    assert.ok(error instanceof ProgramFailed);
    assert.deepEqual([error.code, error.said], [3, "no\n"]);
    return true;
  });
  await assert.rejects(runProgram(["no-such-program"]), /run no-such-program/);
});
