import { type Infer, string, struct } from "#schema/index.ts";

export const RoleRef = struct(
  "rbac/v1.RoleRef",
  {
    apiGroup: string(1).always().default("rbac.authorization.k8s.io"),
    kind: string(2).required(),
    name: string(3).required(),
  },
  { atomic: true },
);
export interface RoleRef extends Infer<typeof RoleRef> {}

export const Subject = struct(
  "rbac/v1.Subject",
  {
    kind: string(1).required(),
    apiGroup: string(2),
    name: string(3).required(),
    namespace: string(4),
  },
  { atomic: true },
);
export interface Subject extends Infer<typeof Subject> {}
