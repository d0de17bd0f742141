// Events. Those with an eventTime come from newer clients, which must say more.
// Upstream: pkg/apis/core/validation/events.go.
import { byteLength, dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { invalid, type Problem, required } from "#schema/index.ts";
import type { Event } from "../event.ts";
import { malformed } from "./problems.ts";

export function* checkEvent(event: Event): Iterable<Problem> {
  const { namespace = "" } = event.metadata;
  const involved = event.involvedObject.namespace ?? "";
  const mismatch = invalid("involvedObject.namespace", "does not match event.namespace", involved);
  if (event.eventTime === undefined) {
    if (involved === "" ? namespace !== "" && namespace !== "default" : namespace !== involved) yield mismatch;
  } else {
    if (involved === "" && namespace !== "default" && namespace !== "kube-system") yield mismatch;
    yield* checkNewEvent(event);
  }
  yield* malformed("namespace", namespace, dns1123Subdomain);
}

const mostBytes = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

function* checkNewEvent(event: Event): Iterable<Problem> {
  if (event.reportingComponent === "") yield required("reportingComponent");
  yield* malformed("reportingComponent", event.reportingComponent, qualifiedName);
  for (const [name, most] of Object.entries(mostBytes)) {
    const value = event[name as keyof typeof mostBytes] ?? "";
    if (value === "" && name !== "message") yield required(name);
    if (byteLength(value) > most) yield invalid(name, `can have at most ${most} characters`, "");
  }
}
