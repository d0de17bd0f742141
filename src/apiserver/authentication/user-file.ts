import type { User } from "#wire/api-request.ts";

/** One line of a file of static users: what they show, and who they are. */
export interface ListedUser {
  readonly secret: string;
  readonly user: User;
}

/** Lines of `secret,user,uid,"group,group"`. Throws an Error that names the line at fault, and not what is in it. */
export function parseUserFile(csv: string, secretName: "token" | "password"): readonly ListedUser[] {
  return csv.split("\n").flatMap((line, index): readonly ListedUser[] => {
    if (line.trim() === "" || line.startsWith("#")) return [];
    const [secret, name, uid, groups] = [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map((match) =>
      (match[1] ?? match[2] ?? "").trim(),
    );
    if (!secret || !name || uid === undefined)
      throw new Error(`line ${index + 1}: expected ${secretName},user,uid and, if wanted, groups`);
    const user = { name, ...(uid && { uid }), groups: groups ? groups.split(",").map((group) => group.trim()) : [] };
    return [{ secret, user }];
  });
}
