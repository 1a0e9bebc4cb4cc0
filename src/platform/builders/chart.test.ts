import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ChartError, packChart } from "./chart.ts";

const NAMES = { name: "shop", description: "The shop", version: "1.0.3", appVersion: "7.1" };
const FILES = { "values.yaml": "a: 1\n", "templates/b.yaml": "b", "templates/a.yaml": "a" };

describe("a packed chart", () => {
  it("is the same bytes for the same source, in whatever order it came", () => {
    const turned = Object.fromEntries(Object.entries(FILES).reverse());
    expect(packChart({ files: turned }, NAMES)).toEqual(packChart({ files: FILES }, NAMES));
    expect(packChart({ files: FILES }, { ...NAMES, version: "1.0.4" })).not.toEqual(packChart({ files: FILES }, NAMES));
  });

  it("has the package's name and version, whatever its metadata says, and the metadata's other fields", () => {
    const metadata = { name: "other", version: "9", appVersion: "8", home: "https://example.com", apiVersion: "v1" };
    const text = gunzipSync(packChart({ files: FILES, metadata }, NAMES)).toString();
    const about = JSON.parse(text.slice(512, text.indexOf("\0", 512)));
    expect(about).toEqual({
      type: "application",
      description: "The shop",
      home: "https://example.com",
      apiVersion: "v2",
      name: "shop",
      version: "1.0.3",
      appVersion: "8",
    });
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "chart"],
    ["no files", {}, "chart"],
    ["bytes", { files: { a: 5 } }, "chart/files/a"],
    ["another key", { files: FILES, name: "x" }, "chart"],
    ["a path out of the chart", { files: { "../x": "" } }, "cannot be a path"],
    ["a path out of the chart, later", { files: { "a/../../x": "" } }, "cannot be a path"],
    ["a path from the root", { files: { "/x": "" } }, "cannot be a path"],
    ["a path with a space", { files: { "a b": "" } }, "cannot be a path"],
    ["an empty segment", { files: { "a//b": "" } }, "cannot be a path"],
    ["a file that is a folder", { files: { a: "", "a/b": "" } }, "is a file and a folder"],
    ["a Chart.yaml", { files: { "Chart.yaml": "" } }, "leave it out"],
    ["a long path", { files: { ["x".repeat(101)]: "" } }, "too long"],
    ["too many files", { files: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`f${at}`, ""])) }, "500"],
  ])("is not made of %s", (_, source, message) => {
    expect(() => packChart(source, NAMES)).toThrow(ChartError);
    expect(() => packChart(source, NAMES)).toThrow(message);
  });

  it.each(["Shop", "my shop", "", "a/b", "..", "shop-"])("is not called %j", (name) => {
    expect(() => packChart({ files: FILES }, { ...NAMES, name })).toThrow("cannot be a chart's name");
  });
});
