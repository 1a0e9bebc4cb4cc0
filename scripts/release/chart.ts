import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { entriesBelow, gzipped, tarOf } from "./archive.ts";
import { type Made, type Making, ROOT } from "./making.ts";
import { chartArtifact, ociArchive } from "./oci.ts";

const CHART = join(ROOT, "deploy/helm/sallyport");

/** The chart as `helm package` makes it, but with the same bytes each time; and as an OCI artifact. */
export async function releasedChart({ version, at }: Making): Promise<Made> {
  const left = readFileSync(join(CHART, ".helmignore"), "utf8").split("\n").filter(isPattern);
  const isLeft = (path: string): boolean => left.some((pattern) => matches(pattern, path));
  const files = entriesBelow(CHART).filter(({ path }) => !isLeft(path));
  const packed = gzipped(
    await tarOf(
      files.map((file) => ({ ...file, path: `sallyport/${file.path}` })),
      at,
    ),
  );
  const about = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8"));
  const name = `chart/sallyport-${version}`;
  return [
    [`${name}.tgz`, packed],
    [`${name}.oci.tar`, await ociArchive(chartArtifact(packed, about), version)],
  ];
}

function isPattern(line: string): boolean {
  return line !== "" && !line.startsWith("#");
}

/** The two kinds of line that our .helmignore has; another one would be packed unseen. */
function matches(pattern: string, path: string): boolean {
  if (/^[\w.-]+\/$/.test(pattern)) return path.startsWith(pattern);
  if (/^\*\.\w+$/.test(pattern)) return path.endsWith(pattern.slice(1));
  throw new Error(`.helmignore: ${pattern} is of a kind that is not known here`);
}
