import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTest } from "./formats.ts";

const cases: Readonly<Record<string, { readonly good: readonly string[]; readonly bad: readonly string[] }>> = {
  bsonobjectid: { good: ["507f1f77bcf86cd799439011"], bad: ["x", "", "507f1f77bcf86cd79943901"] },
  uri: {
    good: ["http://a/b", "/path?x=%zz", "mailto:me", "*", "http://u:p@[::1]:80/%20", "https://bücher.example/"],
    bad: ["", "a/b", "://x", "http://a b/", "http://h:port/", "/%zz", "http://a\u0001/", "http://[::1"],
  },
  email: {
    good: ["a@b.c", "Jo Doe <jo.doe@example.com>", '"a b"@c', "a@[127.0.0.1]", " a@b "],
    bad: ["", "a", "@b", "a@", "a b@c", "a@b..c", "Jo <a>", "a@b, c@d"],
  },
  hostname: {
    good: ["a", "a.example", "1a.bücher.com", "a-b"],
    bad: ["", "a b", "a.b", "-a", `${"a".repeat(64)}.com`],
  },
  ipv4: { good: ["1.2.3.4", "01.2.3.4"], bad: ["::1", "1.2.3", ""] },
  ipv6: { good: ["::1", "::ffff:1.2.3.4"], bad: ["1.2.3.4", "x"] },
  cidr: { good: ["10.0.0.0/8", "::/0"], bad: ["10.0.0.0", "10.0.0.0/33"] },
  mac: { good: ["00:11:22:33:44:55", "0011.2233.4455", "00-11-22-33-44-55-66-77"], bad: ["x", "00:11:22:33:44"] },
  uuid: { good: ["123e4567-e89b-12d3-a456-426614174000", "123E4567e89b12d3a456426614174000"], bad: ["x"] },
  uuid3: { good: ["123e4567-e89b-32d3-a456-426614174000"], bad: ["123e4567-e89b-12d3-a456-426614174000"] },
  uuid4: { good: ["123e4567-e89b-42d3-a456-426614174000"], bad: ["123e4567-e89b-12d3-a456-426614174000"] },
  uuid5: { good: ["123e4567-e89b-52d3-a456-426614174000"], bad: ["123e4567-e89b-52d3-c456-426614174000"] },
  isbn: { good: ["978-3-16-148410-0", "0-306-40615-2"], bad: ["978-3-16-148410-1", ""] },
  isbn10: { good: ["0-306-40615-2", "0-8044-2957-X"], bad: ["x", "0-306-40615-3"] },
  isbn13: { good: ["9783161484100"], bad: ["9783161484101"] },
  creditcard: { good: ["4111111111111111", "4111 1111-1111 1111"], bad: ["1", "4111111111111112"] },
  ssn: { good: ["123-45-6789", "123 45 6789"], bad: ["1", "123456789"] },
  hexcolor: { good: ["#aabbcc", "abc"], bad: ["#aabbc", "red"] },
  rgbcolor: { good: ["rgb(0, 255,12)"], bad: ["red", "rgb(256,0,0)"] },
  byte: { good: ["aGk=", "aGkx"], bad: ["!!", "", "aGk", "=aGk"] },
  password: { good: ["", "x"], bad: [] },
  date: { good: ["2020-02-29", "0000-01-01"], bad: ["2020-02-30", "2019-02-29", "2020-13-01", "2020-1-1"] },
  duration: {
    good: ["1h30m", "1d", "2 weeks", "3 DAYS", "0"],
    bad: ["x", "", "1 fortnight", "99999999999999999999 days", "1".repeat(100_000)],
  },
  "date-time": {
    good: ["2020-01-01T00:00:00Z", "2020-01-01t23:59:59.5+01:00"],
    bad: ["x", "2020-01-01", "2020-01-01T24:00:00Z", "2020-01-01T00:00:00"],
  },
  "k8s-short-name": { good: ["a-b"], bad: ["a.b", "A", "a".repeat(64)] },
  "k8s-long-name": { good: ["a-b.c"], bad: ["a..b", "A"] },
};
for (const [format, { good, bad }] of Object.entries(cases))
  test(`a text of the format ${format} is told from others`, () => {
    const isOfFormat = formatTest(format);
    assert.ok(isOfFormat);
    assert.deepEqual([...good, ...bad].filter(isOfFormat), good);
  });

test("of formats that are not known nothing is said", () => assert.equal(formatTest("int-or-string"), undefined));
