import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "#base/errors.ts";
import { parseFlags } from "#cli/flags.ts";
import { checkUpstreamFlags, upstreamFlags, warnOfUpstreamFlags } from "./upstream-flags.ts";
import { apiVersionInfo, kubernetesVersion } from "./version.ts";

const parsed = (...args: readonly string[]) => parseFlags(upstreamFlags, args).flags;

test("flags that upstream's scripts name are taken, and what has no effect is said", () => {
  const settings = parsed(
    "--feature-gates=AllAlpha=true,DynamicResourceAllocation=true",
    "--runtime-config=api/all=true",
    "--service-account-lookup=false",
    "--storage-media-type=application/vnd.kubernetes.protobuf",
    `--version=${kubernetesVersion}-custom`,
  );
  checkUpstreamFlags(settings);
  const flags: unknown[] = [];
  const log = { warn: (_message: string, fields: { readonly flag: string }) => flags.push(fields.flag) };
  warnOfUpstreamFlags(settings, log as never);
  assert.deepEqual(flags, ["--feature-gates", "--runtime-config", "--service-account-lookup", "--storage-media-type"]);
  flags.length = 0;
  warnOfUpstreamFlags(parsed("--service-account-lookup=true"), log as never);
  assert.deepEqual(flags, []);
});

for (const flag of [
  "--feature-gates=AllAlpha",
  "--feature-gates=A=maybe",
  "--feature-gates=NoSuchGate=true",
  "--runtime-config=api/all=false",
  "--runtime-config=nothing/v1=true",
  "--runtime-config=apps/v7=true",
  "--runtime-config=apps=true",
  "--runtime-config=apps/v1/Deployments=false",
  "--runtime-config=resource.k8s.io/v1beta1=true",
  "--runtime-config=v1=false",
  "--runtime-config=api/all=perhaps",
  "--storage-media-type=text/plain",
  "--version=v1.2.3",
  "--version=custom",
])
  test(`${flag} is refused`, () => {
    assert.throws(() => checkUpstreamFlags(parsed(flag)), UsageError);
  });

test("clients are told the version of the release, with the suffix that was asked for", () => {
  assert.equal(apiVersionInfo().gitVersion, kubernetesVersion);
  assert.equal(apiVersionInfo("v1.36.4-custom").gitVersion, "v1.36.4-custom");
});
