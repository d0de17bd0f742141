// Keys in the paths of JSON patches. Follows apiserver/pkg/cel/library/jsonpatch.go; only mutating policies have it.
import { fn, global, type Library } from "../declarations.ts";
import { stringType } from "../types.ts";

export const jsonPatch: Library = {
  functions: [
    fn(
      "jsonpatch.escapeKey",
      global("string_jsonpatch_escapeKey_string", [stringType], stringType, (key: string) =>
        key.replaceAll("~", "~0").replaceAll("/", "~1"),
      ),
    ),
  ],
};
