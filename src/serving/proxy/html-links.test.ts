import assert from "node:assert/strict";
import { test } from "node:test";
import { rewriteLinks } from "./html-links.ts";
import { throughProxy } from "./urls.ts";

const address = { prefix: "/proxy/path", backendHost: "10.0.0.1:8080", requestHost: "localhost:8001" };

async function rewritten(page: string, size = page.length): Promise<string> {
  const bytes = Buffer.from(page);
  const parts = (async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  })();
  const done: Uint8Array[] = [];
  for await (const part of rewriteLinks(parts, (url) => throughProxy(url, address))) done.push(part);
  return Buffer.concat(done).toString();
}

test("a URL of the server leads through the proxy, others stay", () => {
  for (const [url, expected] of [
    ["/google.log", "/proxy/path/google.log"],
    ["/", "/proxy/path/"],
    ["/a/b/", "/proxy/path/a/b/"],
    ["/a//b/../c?x=/y#/z", "/proxy/path/a/c?x=/y#/z"],
    ["http://10.0.0.1:8080/google.log", "/proxy/path/google.log"],
    ["//10.0.0.1:8080/x", "/proxy/path/x"],
    ["http://localhost:8001/x", "http://localhost:8001/proxy/path/x"],
    ["http://localhost:8001/proxy/path/x", "http://localhost:8001/proxy/path/x"],
    ["/proxy/path/x", "/proxy/path/x"],
    ["http://10.0.0.1/x", "http://10.0.0.1/x"],
    ["https://example.com/x", "https://example.com/x"],
    ["x/y", "x/y"],
    ["../x", "../x"],
    ["?x=1", "?x=1"],
    ["#top", "#top"],
    ["", ""],
    ["mailto:someone@example.com", "mailto:someone@example.com"],
    ["javascript:go('/x')", "javascript:go('/x')"],
    ["http://10.0.0.1:8080", "http://10.0.0.1:8080"],
    ["/../../secret", "/proxy/path/secret"],
  ] as const)
    assert.equal(throughProxy(url, address), expected, url);
});

const pages: Readonly<Record<string, readonly [string, string]>> = {
  "a link": ['<a href="/x">x</a>', '<a href="/proxy/path/x">x</a>'],
  "capitals, and quotes of either kind or none": [
    `<A CLASS=b HREF='/x'><img src=/y alt="/z"><img SRC = "/w"/>`,
    `<A CLASS=b HREF='/proxy/path/x'><img src=/proxy/path/y alt="/z"><img SRC = "/proxy/path/w"/>`,
  ],
  "several attributes, and those that hold no URL": [
    '<video poster="/p" data-src="/d" src="/s"><p href="/x">',
    '<video poster="/proxy/path/p" data-src="/d" src="/proxy/path/s"><p href="/x">',
  ],
  "what is escaped stays escaped": ['<a href="/x?a=1&amp;b=%2F">', '<a href="/proxy/path/x?a=1&amp;b=%2F">'],
  "comments, scripts and texts": [
    `<!-- <a href="/x"> --><script src="/s">go('<a href="/x">')</script><a href="/y"><textarea><a href="/x"></textarea>`,
    `<!-- <a href="/x"> --><script src="/proxy/path/s">go('<a href="/x">')</script><a href="/proxy/path/y"><textarea><a href="/x"></textarea>`,
  ],
  "what only looks like a tag": ['1 < 2 <a href="/x">< a href="/y">', '1 < 2 <a href="/proxy/path/x">< a href="/y">'],
  "signs of tags in values": ['<a title="a > b" href="/x">', '<a title="a > b" href="/proxy/path/x">'],
  "other languages": ['<a href="/ö">日本語</a>', '<a href="/proxy/path/ö">日本語</a>'],
  "a page that breaks off": ['<p>x</p><a href="/x', '<p>x</p><a href="/x'],
  "declarations and ends": [
    '<!DOCTYPE html><html manifest="/m"></html>',
    '<!DOCTYPE html><html manifest="/proxy/path/m"></html>',
  ],
  "a comment without an end": ['<!-- <a href="/x">', '<!-- <a href="/x">'],
  "plain text to the end": ['<plaintext><a href="/x">', '<plaintext><a href="/x">'],
};

for (const [name, [page, expected]] of Object.entries(pages))
  test(`links of a page: ${name}`, async () => {
    // However it is cut in parts, the page is the same.
    for (const size of [page.length, 1, 2, 7]) assert.equal(await rewritten(page, size), expected, `parts of ${size}`);
  });

test("a page of nothing but beginnings passes whole", async () => {
  for (const piece of ["<a ", '<a b="', "<a href=/x ", "<!--", "<script>", "</", "<", '<a href="/x">', "<a b='\"c "]) {
    const page = piece.repeat(400_000 / piece.length);
    let length = 0;
    const parts = (async function* () {
      for (let at = 0; at < page.length; at += 16_384) yield Buffer.from(page.slice(at, at + 16_384));
    })();
    for await (const part of rewriteLinks(parts, (url) => url)) length += part.length;
    assert.equal(length, page.length, piece);
  }
});
