// Texts that are nearly templates, for tests that must not find a way to bring the engine down.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import type { GoMap } from "../../../src/kubectl/go/value.ts";

export const object: GoMap = JSON.parse(readFileSync(new URL("object.json", import.meta.url), "utf8"));

const words = fc.constantFrom(
  ..."and or not len index slice print printf println html js urlquery eq ne lt le gt ge call exists base64decode".split(
    " ",
  ),
  ..."if else end range with template define block break continue nil true false $ $x $y . .spec .kind".split(" "),
  ...".spec.list .spec.maps .spec.nested .spec.text .spec.nil .spec.int .metadata.labels .missing".split(" "),
  ..."| ( ) := = , - + 1 2.5 0x1f 1e9 'a' 1i".split(" "),
  ...['"%v"', '"%5d|"', '"%[2]*.[1]*f"', '"name"', '"t"', "`raw`", "/* c */"],
);
const action = fc
  .tuple(fc.constantFrom("{{", "{{- "), fc.array(words, { maxLength: 8 }), fc.constantFrom("}}", " -}}"))
  .map(([open, inside, close]) => `${open}${inside.join(" ")}${close}`);

export const templateText: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.oneof(action, fc.string({ maxLength: 5 })), { maxLength: 8 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => `{{${text}}}`),
  fc.string({ unit: "binary", maxLength: 20 }).map((text) => `{{printf ${JSON.stringify(text)} 1 .spec.list .}}`),
);

const pathWords = fc.constantFrom(
  ...". .. .* .spec .kind .list .maps [0] [-1] [*] [0:2] [::2] [0,1] ['name'] [?(@.name=='x')] [?(@.port>80)] @ $".split(
    " ",
  ),
  ..."range end .missing [?( )] { } 'text' 1 -1 1.5 true , [ ] ' \\".split(" "),
);

export const pathText: fc.Arbitrary<string> = fc.oneof(
  fc
    .array(
      fc.array(pathWords, { maxLength: 6 }).map((parts) => `{${parts.join("")}}`),
      { maxLength: 5 },
    )
    .map((actions) => actions.join(" ")),
  fc.string({ unit: "binary", maxLength: 30 }).map((text) => `{${text}}`),
);
