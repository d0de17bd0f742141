import assert from "node:assert/strict";
import { test } from "node:test";
import { imageNameProblem } from "./image-name.ts";

const sum = "0123456789abcdef".repeat(4);

test("names of images are held to the grammar of registries", () => {
  const good = [
    ...[
      "nginx",
      "nginx:1.27",
      "library/nginx",
      "a/b/c:latest",
      "knarr.local/busybox",
      "localhost/x",
      "localhost:5000/x:y",
    ],
    ...["[::1]:5000/x", "UPPER.example/x", "a__b/c--d/e.f", `nginx@sha256:${sum}`, `r.io/n:1@sha256:${sum}`],
    ...[`n:${"t".repeat(128)}`, `r.io/${"a".repeat(255)}`],
  ];
  for (const name of good) assert.equal(imageNameProblem(name), undefined, name);
  const invalid = "invalid reference format";
  const bad: readonly (readonly [string, string])[] = [
    ["", invalid],
    [":", invalid],
    ["nginx:", invalid],
    ["nginx:a b", invalid],
    ["my image", invalid],
    ["a//b", invalid],
    ["-a", invalid],
    ["a___b", invalid],
    [`n:${"t".repeat(129)}`, invalid],
    ["http://r.io/x", invalid],
    ["nginx@sha256:12", invalid],
    ["Nginx", "invalid reference format: repository name (library/Nginx) must be lowercase"],
    ["Bad Image", "invalid reference format: repository name (library/Bad Image) must be lowercase"],
    ["r.io/Web:1", "invalid reference format: repository name (Web) must be lowercase"],
    [sum, `invalid repository name (${sum}), cannot specify 64-byte hexadecimal strings`],
    [`r.io/${"a".repeat(256)}`, "repository name must not be more than 255 characters"],
    [`nginx@md5:${sum}`, "unsupported digest algorithm"],
    [`nginx@sha256:${sum}00`, "invalid checksum digest length"],
    [`nginx@sha256:${sum.toUpperCase()}`, "invalid checksum digest format"],
  ];
  for (const [name, problem] of bad) assert.equal(imageNameProblem(name), problem, name);
});

test("a name that is made to take long takes no time", () => {
  for (const name of [`${"a-".repeat(50_000)}!`, `${"a.".repeat(50_000)}/!`, `${"a".repeat(100_000)}/`])
    assert.notEqual(imageNameProblem(name), undefined);
});
