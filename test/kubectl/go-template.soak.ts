// As many templates as a night is long enough for: none may bring the engine down.
import { test } from "node:test";
import fc from "fast-check";
import { TemplateError } from "../../src/kubectl/template/error.ts";
import { compileTemplate } from "../../src/kubectl/template/template.ts";
import { object, templateText } from "./cases/template-text.ts";

test("100,000 templates end in text or in an error of theirs", () => {
  fc.assert(
    fc.property(templateText, (text) => {
      try {
        compileTemplate("output", text).execute(object, () => undefined);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
      }
    }),
    { numRuns: 100_000 },
  );
});
