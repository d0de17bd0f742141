// Comprehensions with an index or key beside the element. Follows cel-go's ext/comprehensions.go.
import { fn, global, type Library } from "../declarations.ts";
import { twoVariableMacros } from "../macros.ts";
import { mapType, typeParameter } from "../types.ts";
import { fail } from "../values/failure.ts";
import { EntryMap, type MapValue } from "../values/map.ts";
import type { CelValue } from "../values/value.ts";
import { showKey } from "./operators.ts";

const K = typeParameter("K");
const V = typeParameter("V");
const mapOfKV = mapType(K, V);

/** Only comprehensions call it, on an accumulator that nobody else sees: it is changed in place. */
function insert(map: MapValue, key: CelValue, value: CelValue): MapValue {
  if (map.find(key) !== undefined) fail(`insert failed: key ${showKey(key)} already exists`);
  const target = map instanceof EntryMap ? map : new EntryMap();
  return target.insert(key, value);
}

function insertAll(map: MapValue, more: MapValue): MapValue {
  let result = map;
  for (const key of more.keys()) result = insert(result, key, more.find(key) ?? null);
  return result;
}

export const twoVariableComprehensions: Library = {
  macros: twoVariableMacros,
  functions: [
    fn(
      "cel.@mapInsert",
      global("@mapInsert_map_map", [mapOfKV, mapOfKV], mapOfKV, insertAll),
      global("@mapInsert_map_key_value", [mapOfKV, K, V], mapOfKV, insert),
    ),
  ],
};
