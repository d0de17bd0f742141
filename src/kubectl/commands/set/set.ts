// Upstream: kubectl/pkg/cmd/set/set.go.
import { command } from "../../command.ts";

export const set = command({
  use: "set SUBCOMMAND",
  long: "Change one aspect of objects that exist: images, variables, resources, service accounts, selectors or subjects.",
  subcommands: [
    {
      name: "env",
      short: "Update environment variables on a pod template",
      load: async () => (await import("./env.ts")).setEnv,
    },
    {
      name: "image",
      short: "Update the image of a pod template",
      load: async () => (await import("./image.ts")).setImage,
    },
    {
      name: "resources",
      short: "Update resource requests/limits on objects with pod templates",
      load: async () => (await import("./resources.ts")).setResources,
    },
    {
      name: "selector",
      short: "Set the selector on a resource",
      load: async () => (await import("./selector.ts")).setSelector,
    },
    {
      name: "serviceaccount",
      aliases: ["sa"],
      short: "Update the service account of a resource",
      load: async () => (await import("./serviceaccount.ts")).setServiceAccount,
    },
    {
      name: "subject",
      short: "Update the user, group, or service account in a role binding or cluster role binding",
      load: async () => (await import("./subject.ts")).setSubject,
    },
  ],
});
