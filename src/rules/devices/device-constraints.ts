// What must be true of the devices of a claim taken together.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/constraint.go.
import type { DeviceConstraint } from "#api/resource/v1/device-request.ts";
import type { PoolDevice } from "./device-pools.ts";
import { qualified } from "./device-selection.ts";

export interface ConstraintState {
  /** Whether devices of the request must meet it; a request is meant with all its alternatives. */
  concerns(request: string): boolean;
  /** Whether the device may come to those that were added before. */
  add(device: PoolDevice): boolean;
  remove(device: PoolDevice): void;
}

export const constraintsOf = (constraints: readonly DeviceConstraint[]): readonly ConstraintState[] =>
  constraints.map(({ requests = [], matchAttribute, distinctAttribute }) => {
    const concerns = (request: string) =>
      requests.length === 0 || requests.includes(request) || requests.includes(request.split("/")[0] ?? "");
    const attribute = matchAttribute ?? distinctAttribute ?? "";
    const present: string[] = [];
    return {
      concerns,
      add(device) {
        const value = attributeOf(device, attribute);
        if (value === undefined) return false;
        const isMet = matchAttribute === undefined ? !present.includes(value) : (present[0] ?? value) === value;
        if (isMet) present.push(value);
        return isMet;
      },
      remove(device) {
        const at = present.lastIndexOf(attributeOf(device, attribute) ?? "");
        if (at >= 0) present.splice(at, 1);
      },
    };
  });

/** With its type: the number 1 is not the text "1". */
function attributeOf({ driver, device }: PoolDevice, name: string): string | undefined {
  const [domain, id] = qualified(name, driver);
  const { attributes = {} } = device;
  const attribute = attributes[name] ?? (domain === driver ? attributes[id] : undefined);
  if (!attribute) return undefined;
  const { int, bool, string, version } = attribute;
  return JSON.stringify([int, bool, string, version]);
}
