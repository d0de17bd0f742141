import { test } from "node:test";
import { impossible } from "../kubelet/containerd.ts";
import { dropMany } from "./kills.ts";

test("100 kubelets that end at any moment lose, double and leak no mount of a driver", {
  skip: impossible,
}, async (t) => {
  t.diagnostic(await dropMany(100, process.pid));
});
