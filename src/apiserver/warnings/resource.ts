// Warnings about accepted devices.
// Upstream: pkg/registry/resource/resourceslice/strategy.go.
import type { ResourceSlice } from "#api/resource/v1/resource-slice.ts";

export function* deviceSliceWarnings({ spec: { driver } }: Pick<ResourceSlice, "spec">): Iterable<string> {
  if (driver !== driver.toLowerCase())
    yield `spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`;
}
