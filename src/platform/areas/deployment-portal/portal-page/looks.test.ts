import { describe, expect, it } from "vitest";
import { PORTAL_COLOURS, PORTAL_DENSITIES, PORTAL_PRESETS } from "../../../../contract/projects/portal-appearance.ts";
import { DARK, LIGHT, type Palette, STYLE } from "../../../kernel/web-style.ts";
import { contrast } from "../testing/contrast.ts";
import { lookOf, type PortalPalette, paletteOf } from "./looks.ts";

/** What text and marks stand on in each page; what is read needs 4.5 to 1, what is only seen 3 to 1. */
const GROUNDS = ["page", "card"] as const;
const READ = ["text", "quiet", "accent", "good", "bad", "warn"] as const;
const SEEN = ["edge", "focus", "accent"] as const;

type Pair<P> = readonly [upper: keyof P, lower: keyof P, least: number];

const PAIRS: readonly Pair<Palette>[] = [
  ...GROUNDS.flatMap((lower) => READ.map((upper) => [upper, lower, 4.5] as const)),
  ...GROUNDS.flatMap((lower) => SEEN.map((upper) => [upper, lower, 3] as const)),
  ["text", "soft", 4.5],
  ["edge", "soft", 3],
  ["focus", "soft", 3],
  ["onAccent", "accent", 4.5],
];
const PORTAL_PAIRS: readonly Pair<PortalPalette>[] = [
  ...PAIRS,
  ["onHead", "head", 4.5],
  ["onTile", "tile", 4.5],
  ["tile", "head", 3],
];

function tooFaint<P extends object>(palette: P, pairs: readonly Pair<P>[]): readonly string[] {
  return pairs.flatMap(([upper, lower, least]) => {
    const found = contrast(String(palette[upper]), String(palette[lower]));
    return found >= least ? [] : [`${String(upper)} on ${String(lower)}: ${found.toFixed(2)} of ${least}`];
  });
}

describe("contrast", () => {
  it.each([
    ["#000000", "#ffffff", 21],
    ["#ffffff", "#ffffff", 1],
    ["#777777", "#ffffff", 4.48],
    ["#ff0000", "#ffffff", 4],
    ["#0000ff", "#000000", 2.44],
  ])("of %s and %s is %d", (one, other, wanted) => {
    expect(contrast(one, other)).toBeCloseTo(wanted, 2);
    expect(contrast(other, one)).toBe(contrast(one, other));
  });
});

describe("looks", () => {
  it("of all pages are readable, in the light and in the dark", () => {
    expect([LIGHT, DARK].flatMap((each) => tooFaint(each, PAIRS))).toEqual([]);
  });

  const all = PORTAL_PRESETS.flatMap((preset) =>
    PORTAL_COLOURS.flatMap((accentColor) =>
      (["light", "dark"] as const).map((scheme) => ({ preset, accentColor, scheme })),
    ),
  );

  it.each(all)("$preset in $accentColor is readable in the $scheme", ({ scheme, ...chosen }) => {
    const palette = paletteOf(chosen, scheme);
    for (const colour of Object.values(palette)) expect(colour).toMatch(/^#[0-9a-f]{6}$/);
    expect(tooFaint(palette, PORTAL_PAIRS)).toEqual([]);
  });

  it("are all different, load nothing, move nothing, and are no way out of the style sheet", () => {
    const looks = PORTAL_PRESETS.flatMap((preset) =>
      PORTAL_COLOURS.flatMap((accentColor) =>
        PORTAL_DENSITIES.map((density) => lookOf({ preset, accentColor, density })),
      ),
    );
    expect(new Set(looks).size).toBe(60);
    for (const look of looks)
      expect(STYLE + look).not.toMatch(/url\(|@import|@font-face|animation|transition|<|undefined/);
  });
});
