import assert from "node:assert/strict";
import { test } from "node:test";
import { type FlagDeclarations, parseArguments, splitCsv } from "./flags.ts";

const flags = {
  output: { type: "string", short: "o", help: "" },
  namespace: { type: "string", short: "n", help: "" },
  stdin: { type: "bool", short: "i", help: "" },
  tty: { type: "bool", short: "t", help: "" },
  replicas: { type: "int", default: 1, help: "" },
  grace: { type: "duration", default: "5s", help: "" },
  filename: { type: "stringSlice", short: "f", help: "" },
  "as-group": { type: "stringArray", help: "" },
  "dry-run": { type: "string", default: "none", withoutValue: "unchanged", help: "" },
  old: { type: "bool", deprecated: "use --new", help: "" },
} as const satisfies FlagDeclarations;
const parse = (...args: string[]) => parseArguments(flags, args, () => undefined);

test("a flag is read in every form pflag takes", () => {
  for (const [args, name, value] of [
    [["--output=json"], "output", "json"],
    [["--output", "json"], "output", "json"],
    [["-o", "json"], "output", "json"],
    [["-ojson"], "output", "json"],
    [["-o=json"], "output", "json"],
    [["-o="], "output", "="],
    [["-itn", "team"], "namespace", "team"],
    [["-itnteam"], "namespace", "team"],
    [["--stdin=false"], "stdin", false],
    [["--stdin=F"], "stdin", false],
    [["--replicas=0x10"], "replicas", 16],
    [["--replicas=-3"], "replicas", -3],
    [["--grace=1m"], "grace", 60_000_000_000n],
    [["-f", "a,b", "-f", "c"], "filename", ["a", "b", "c"]],
    [["-f", '"a,b",c'], "filename", ["a,b", "c"]],
    [["--as-group=a,b", "--as-group=c"], "as-group", ["a,b", "c"]],
    [["--as_group=a"], "as-group", ["a"]],
    [["--dry-run"], "dry-run", "unchanged"],
    [["--dry-run=client"], "dry-run", "client"],
    [[], "dry-run", "none"],
    [[], "grace", 5_000_000_000n],
  ] as const)
    assert.deepEqual(parse(...args).flags[name], value, args.join(" "));
});

test("what is no flag stays in order, and two dashes end the flags", () => {
  const { args, dash, changed } = parse("web", "-i", "-", "--", "ls", "-l");
  assert.deepEqual(args, ["web", "-", "ls", "-l"]);
  assert.equal(dash, 2);
  assert.deepEqual([...changed], ["stdin"]);
  assert.equal(parse("web").dash, -1);
  assert.deepEqual(parse("--dry-run", "client").args, ["client"]);
});

test("mistakes are told in pflag's words", () => {
  for (const [args, message] of [
    [["--nope"], "unknown flag: --nope"],
    [["--constructor"], "unknown flag: --constructor"],
    [["-ix"], "unknown shorthand flag: 'x' in -x"],
    [["--output"], "flag needs an argument: --output"],
    [["-io"], "flag needs an argument: 'o' in -o"],
    [["--=x"], "bad flag syntax: --=x"],
    [["--replicas=a"], 'invalid argument "a" for "--replicas" flag: strconv.ParseInt: parsing "a": invalid syntax'],
    [
      ["--stdin=maybe"],
      'invalid argument "maybe" for "-i, --stdin" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    [["--grace=5"], 'invalid argument "5" for "--grace" flag: time: missing unit in duration "5"'],
  ] as const)
    assert.throws(() => parse(...args), { message }, args.join(" "));
});

test("a deprecated flag says so once", () => {
  const told: string[] = [];
  parseArguments(flags, ["--old", "--old"], (text) => told.push(text));
  assert.deepEqual(told, ["Flag --old has been deprecated, use --new\n"]);
});

test("fields of CSV may be quoted", () => {
  assert.deepEqual(splitCsv('a,"b ""c"", d",'), ["a", 'b "c", d', ""]);
  assert.throws(() => splitCsv('a"b'), /parse error on line 1/);
});
