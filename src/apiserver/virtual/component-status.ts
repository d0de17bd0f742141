// The health of parts of the control plane, checked on demand: `kubectl get componentstatuses`.
// Upstream: pkg/registry/core/componentstatus/rest.go.
import { ComponentStatus } from "#api/core/v1/component-status.ts";
import { explain } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import type { HealthCheck } from "#serving/health.ts";
import { encodeObject } from "#wire/json.ts";
import { notFound } from "#wire/status.ts";
import { parseListOptions } from "../registry/options.ts";
import type { VirtualHandler } from "../served-resource.ts";
import type { VirtualParts } from "./list.ts";

type Parts = Pick<VirtualParts, "components">;

export const getComponent =
  ({ components }: Parts): VirtualHandler =>
  async ({ name = "", signal }) => {
    const component = components.find((one) => one.name === name);
    if (!component) throw notFound({ group: "", resource: "componentstatus" }, name);
    return { type: "plain", code: 200, kind: ComponentStatus, object: await statusOf(component, signal) };
  };

export const listComponents =
  ({ components }: Parts): VirtualHandler =>
  async (request) => {
    const { wants } = parseListOptions(ComponentStatus, request);
    const all = await Promise.all(components.map((component) => statusOf(component, request.signal)));
    const items = all
      .filter((object) => !wants || wants(object))
      .map((object) => ({ object, json: encodeObject(object, object) }));
    return { type: "list", page: { kind: ComponentStatus, resourceVersion: "", items } };
  };

async function statusOf({ name, check }: HealthCheck, signal: AbortSignal): Promise<ApiObject> {
  let health: object;
  try {
    await check(signal);
    health = { status: "True", message: "ok" };
  } catch (error) {
    signal.throwIfAborted();
    health = { status: "Unknown", error: explain(error) };
  }
  const { kind, apiVersion } = ComponentStatus;
  return { kind, apiVersion, metadata: { name }, conditions: [{ type: "Healthy", ...health }] };
}
