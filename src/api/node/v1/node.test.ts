import { ruleTests, updateTests } from "../../testing/rules.ts";
import { RuntimeClass } from "./runtime-class.ts";

const runtime = { handler: "gvisor", overhead: { podFixed: { cpu: "10m" } } };
const tolerant = { key: "a", operator: "Exists" };
ruleTests(RuntimeClass, runtime, {
  "no handler": [{ handler: "" }, "handler: Required value"],
  "a handler with a dot": [{ handler: "a.b" }, 'handler: Invalid value: "a.b": must not contain dots'],
  "less than no overhead": [
    { "overhead.podFixed.cpu": "-1" },
    'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ],
  "the same toleration twice": [
    { scheduling: { tolerations: [tolerant, tolerant] } },
    'scheduling.tolerations[1]: Duplicate value: {"key":"a","operator":"Exists"}',
  ],
});
updateTests(RuntimeClass, runtime, {
  "another handler": [{ handler: "kata" }, 'handler: Invalid value: "kata": field is immutable'],
});
