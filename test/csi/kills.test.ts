import { test } from "node:test";
import { impossible } from "../kubelet/containerd.ts";
import { dropMany } from "./kills.ts";

// `npm run soak` does many more.
test("kubelets that end at any moment lose, double and leak no mount of a driver", { skip: impossible }, async (t) => {
  t.diagnostic(await dropMany(10, process.pid));
});
