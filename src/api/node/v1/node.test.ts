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
  "a toleration of nothing": [
    { scheduling: { tolerations: [{}] } },
    'scheduling.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
  ],
  "the same toleration twice": [
    { scheduling: { tolerations: [tolerant, tolerant] } },
    'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}',
  ],
});
updateTests(RuntimeClass, runtime, {
  "no handler any more": [{ handler: "" }, "handler: Required value", 'handler: Invalid value: "": field is immutable'],
  "another handler": [{ handler: "kata" }, 'handler: Invalid value: "kata": field is immutable'],
});
