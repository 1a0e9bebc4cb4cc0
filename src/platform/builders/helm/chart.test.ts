import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ChartError, packChart } from "./chart.ts";

const NAMES = { name: "shop", description: "The shop", version: "1.0.3", appVersion: "7.1" };
const FILES = { "values.yaml": "a: 1\n", "templates/b.yaml": "b", "templates/a.yaml": "a" };

describe("a packed chart", () => {
  it("is the same bytes for the same source, in whatever order it came", async () => {
    const turned = Object.fromEntries(Object.entries(FILES).reverse());
    const packed = await packChart({ files: FILES }, NAMES);
    expect(await packChart({ files: turned }, NAMES)).toEqual(packed);
    expect(await packChart({ files: FILES }, { ...NAMES, version: "1.0.4" })).not.toEqual(packed);
  });

  it("has the package's name and version, whatever its metadata says, and the metadata's other fields", async () => {
    const metadata = { name: "other", version: "9", appVersion: "8", home: "https://example.com", apiVersion: "v1" };
    const text = gunzipSync(await packChart({ files: FILES, metadata }, NAMES)).toString();
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
    ["a long name", { files: { ["x".repeat(101)]: "" } }, "too long"],
    ["a long path", { files: { [Array(51).fill("path").join("/")]: "" } }, "too long"],
    ["too many files", { files: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`f${at}`, ""])) }, "500"],
  ])("is not made of %s", async (_, source, message) => {
    const packing = packChart(source, NAMES);
    await expect(packing).rejects.toThrow(ChartError);
    await expect(packing).rejects.toThrow(message);
  });

  it.each(["Shop", "my shop", "", "a/b", "../..", "shop-"])("is not called %j", async (name) => {
    await expect(packChart({ files: FILES }, { ...NAMES, name })).rejects.toThrow("cannot be a chart's name");
  });
});
