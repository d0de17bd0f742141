import { ruleTests } from "../../testing/rules.ts";
import { Lease } from "./lease.ts";

ruleTests(
  Lease,
  { spec: { holderIdentity: "me", leaseDurationSeconds: 15 } },
  {
    "no duration at all": [
      { "spec.leaseDurationSeconds": 0 },
      "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
    ],
    "fewer than no transitions": [
      { "spec.leaseTransitions": -1 },
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
  },
);
