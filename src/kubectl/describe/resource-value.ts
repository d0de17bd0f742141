// What a resourceFieldRef comes to (upstream: kubectl/pkg/util/resource/resource.go).
import { isObject } from "#base/is-object.ts";
import { parseQuantity, quantityMilliValue, quantityValue } from "#schema/quantity.ts";

/** The amount in units of the divisor, rounded up; undefined for what is no resource of a container. */
export function resourceValue(
  { resource = "", divisor = "0" }: { readonly resource?: unknown; readonly divisor?: unknown },
  container: Readonly<Record<string, unknown>>,
): string | undefined {
  const [, list = "", name = ""] =
    /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(String(resource)) ?? [];
  if (name === "") return undefined;
  const resources = isObject(container.resources) ? container.resources : {};
  const amounts = isObject(resources[list]) ? resources[list] : {};
  const measure = name === "cpu" ? quantityMilliValue : quantityValue;
  const unit = measure(parseQuantity(String(divisor))) || measure(parseQuantity("1"));
  const amount = measure(parseQuantity(String(amounts[name] ?? "0")));
  return String((amount + unit - 1n) / unit);
}
