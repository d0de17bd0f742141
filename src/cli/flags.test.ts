import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "#base/errors.ts";
import { flagsHelp, parseFlags } from "./flags.ts";

const flags = {
  nodes: { type: "int", help: "How many" },
  output: { type: "string", short: "o", default: "text", help: "Form" },
  follow: { type: "bool", short: "f", default: false, help: "Go on" },
  servers: { type: "strings", help: "Where" },
} as const;

test("a flag is read in every form people write it", () => {
  for (const [args, wanted] of [
    [["--nodes=5"], { nodes: 5 }],
    [["--nodes", "5"], { nodes: 5 }],
    [["-o", "json"], { output: "json" }],
    [["-ojson"], { output: "json" }],
    [["-o=json"], { output: "json" }],
    [["-f"], { follow: true }],
    [["--follow=false"], { follow: false }],
    [["--servers=a,b", "--servers", "c"], { servers: ["a", "b", "c"] }],
  ] as const)
    assert.deepEqual(parseFlags(flags, args).flags, { output: "text", follow: false, servers: [], ...wanted });
});

test("what is no flag is left over, as is all behind two dashes", () => {
  assert.deepEqual(parseFlags(flags, ["web", "-f", "-", "--", "--nodes"]).rest, ["web", "-", "--nodes"]);
});

test("a wrong flag is named, with the one that was meant", () => {
  for (const [args, message] of [
    [["--nods=5"], "unknown flag --nods; did you mean --nodes?"],
    [["--nodse=5"], "unknown flag --nodse; did you mean --nodes?"],
    [["--node"], "unknown flag --node; did you mean --nodes?"],
    [["--constructor"], "unknown flag --constructor"],
    [["-x"], "unknown flag -x"],
    [["-fx"], "unknown flag -fx"],
    [["--nodes"], "--nodes needs a value"],
    [["--nodes=five"], '--nodes is a whole number, not "five"'],
    [["--follow=maybe"], '--follow is true or false, not "maybe"'],
  ] as const)
    assert.throws(() => parseFlags(flags, args), new UsageError(message), args.join(" "));
});

test("the help shows short forms and defaults", () => {
  assert.equal(
    flagsHelp(flags),
    [
      "Flags:",
      "  --nodes=INT           How many",
      "  -o, --output=STRING   Form (default text)",
      "  -f, --follow          Go on",
      "  --servers=STRINGS     Where",
    ].join("\n"),
  );
});
