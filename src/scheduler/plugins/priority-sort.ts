// Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go.
import { schedulerPlugin } from "../framework.ts";

/** More important pods first; among equals, the one that has waited longer. */
export const prioritySort = schedulerPlugin({
  name: "PrioritySort",
  queueSort: (a, b) => b.view.priority - a.view.priority || a.since - b.since,
});
