import assert from "node:assert/strict";
import { test } from "node:test";
import { describeColumns, TabWriter, tableColumns, tableText } from "./tab-writer.ts";

test("columns are as wide as their widest cell, with space between", () => {
  assert.equal(
    tableText([
      ["NAME", "READY", "AGE"],
      ["web", "1/1", "5m"],
      ["größer-als-sonst", "", "1s"],
    ]),
    "NAME               READY   AGE\nweb                1/1     5m\ngrößer-als-sonst           1s\n",
  );
});

test("lines without a column end it", () => {
  let text = "";
  const writer = new TabWriter((part) => {
    text += part;
  }, describeColumns);
  writer.write("Name:\tweb\nLabels:\ta=b\n\tc=d\nPlain line\nX:\ty\n");
  writer.flush();
  assert.equal(text, "Name:    web\nLabels:  a=b\n         c=d\nPlain line\nX:  y\n");
});

test("a table that goes on keeps its widths", () => {
  let text = "";
  const writer = new TabWriter((part) => {
    text += part;
  }, tableColumns);
  writer.write("a-long-name\tAGE\n");
  writer.flush();
  writer.write("b\t1s\n");
  writer.flush();
  assert.equal(text, "a-long-name   AGE\nb             1s\n");
});
