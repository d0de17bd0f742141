// What each verb does to a stored resource: one file each, from the request to the registry and back.
import type { RequestVerb } from "#wire/api-request.ts";
import { methodNotAllowed } from "#wire/status.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { create } from "./create.ts";
import { deleteOne } from "./delete.ts";
import { deleteCollection } from "./delete-collection.ts";
import { get } from "./get.ts";
import { list } from "./list.ts";
import { patch } from "./patch.ts";
import { update } from "./update.ts";
import { watch } from "./watch.ts";

const connectIsNoVerbHere: SubresourceHandler = async () => {
  throw methodNotAllowed();
};

export const verbs: Readonly<Record<RequestVerb, SubresourceHandler>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: deleteOne,
  deletecollection: deleteCollection,
  connect: connectIsNoVerbHere,
};
