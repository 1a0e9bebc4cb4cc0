import { expect, test } from "vitest";
import { checkedVersion, ReleaseError, type VersionFacts } from "./version.ts";

const AGREED: VersionFacts = {
  asked: undefined,
  manifest: "1.2.3",
  chart: "1.2.3",
  changes: "1.2.3",
  tags: ["v1.2.3"],
  changed: [],
  isTrial: false,
};

test.each<readonly [string, Partial<VersionFacts>]>([
  ["the tag", {}],
  ["the flag, without a tag", { asked: "1.2.3", tags: [] }],
  ["a trial, without a tag and with changes", { isTrial: true, tags: [], changed: [" M a.ts"] }],
])("a version is taken from %s", (_, facts) => {
  expect(checkedVersion({ ...AGREED, ...facts })).toBe("1.2.3");
});

test.each<readonly [string, Partial<VersionFacts>, RegExp]>([
  ["a version that is none", { manifest: "1.2" }, /three numbers/],
  [
    "another version than that of package.json",
    { asked: "1.3.0" },
    /has version 1\.2\.3, not 1\.3\.0: npm version 1\.3\.0/,
  ],
  ["a flag that is no version", { asked: "next" }, /--version is next: it needs three numbers/],
  ["no changes of this version", { changes: "1.2.2" }, /chart-changes\.ts begins with 1\.2\.2/],
  ["no changes at all", { changes: undefined }, /begins with nothing/],
  ["a chart of another version", { chart: "1.2.2" }, /Chart\.yaml has version 1\.2\.2, not 1\.2\.3: npm run generate/],
  ["changes that no commit has", { changed: [" M a.ts", "?? b"] }, /\( M a\.ts, \?\? b\): commit them/],
  ["a commit without a tag", { tags: ["v1.2.2"] }, /no tag v1\.2\.3: git tag v1\.2\.3, or --version 1\.2\.3/],
  ["a trial of another version", { isTrial: true, asked: "2.0.0" }, /not 2\.0\.0/],
])("with %s there is no release, and it says what to do", (_, facts, words) => {
  expect(() => checkedVersion({ ...AGREED, ...facts })).toThrow(ReleaseError);
  expect(() => checkedVersion({ ...AGREED, ...facts })).toThrow(words);
});
