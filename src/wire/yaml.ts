import { decodeValue } from "#schema/decode.ts";
import { decodeUtf8 } from "#schema/json.ts";
import type { Codec } from "./codec.ts";
import { withNames } from "./json.ts";
import { yamlType } from "./negotiate.ts";
import { parseYaml } from "./yaml/read.ts";
import { printYaml } from "./yaml/write.ts";

const encoder = new TextEncoder();

/** Cannot be watched, as upstream cannot: nothing says where a document ends before the next begins. */
export const yamlCodec: Codec = {
  mediaType: yamlType,
  supports: () => true,
  encode: (subject, object) => encoder.encode(printYaml(withNames(subject, object))),
  decode(subject, body) {
    const { value, duplicates } = parseYaml(decodeUtf8(body));
    const decoded = decodeValue(subject, value);
    if (duplicates.length === 0) return decoded;
    const twice = `yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`;
    return { object: decoded.object, strictErrors: [twice, ...decoded.strictErrors] };
  },
};
