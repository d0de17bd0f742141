// What a variable gets that is set to a request or limit of its container.
import type { Container } from "#api/core/v1/container.ts";
import type { ResourceFieldSelector } from "#api/core/v1/env.ts";
import { resourceValue } from "./resource-value.ts";

/** Empty for a field that there is not. */
export function resourceFieldValue(selector: ResourceFieldSelector, { resources }: Container): string {
  const value = resourceValue(selector, { resources }) ?? "";
  const { resource } = selector;
  return value === "0" && (resource === "limits.cpu" || resource === "limits.memory") ? "node allocatable" : value;
}
