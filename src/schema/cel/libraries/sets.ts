// Lists as sets. Follows cel-go's ext/sets.go.
import { fn, global, type Library } from "../declarations.ts";
import { boolType, listType, typeParameter } from "../types.ts";
import { listIncludes } from "../values/equality.ts";
import { elementsOf, type ListValue } from "../values/list.ts";

const listOfT = listType(typeParameter("T"));

function contains(list: ListValue, part: ListValue): boolean {
  for (const element of elementsOf(part)) if (!listIncludes(list, element)) return false;
  return true;
}

function intersects(a: ListValue, b: ListValue): boolean {
  for (const element of elementsOf(a)) if (listIncludes(b, element)) return true;
  return false;
}

export const sets: Library = {
  functions: [
    fn("sets.contains", global("list_sets_contains_list", [listOfT, listOfT], boolType, contains)),
    fn(
      "sets.equivalent",
      global(
        "list_sets_equivalent_list",
        [listOfT, listOfT],
        boolType,
        (a: ListValue, b: ListValue) => contains(a, b) && contains(b, a),
      ),
    ),
    fn("sets.intersects", global("list_sets_intersects_list", [listOfT, listOfT], boolType, intersects)),
  ],
};
