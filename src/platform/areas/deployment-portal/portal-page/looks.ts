import type { Appearance } from "../../../../contract/deployment-portal/deployment-info.ts";
import { colours, DARK, LIGHT, type Palette, properties } from "../../../kernel/web-style.ts";

// What a vendor may choose of the page's look, as data. Fonts are those that a system has: the page loads none.

type Scheme = "light" | "dark";

interface Preset {
  /** What the page is coloured with: nothing, the grey of the lines, or a breath of the accent. */
  readonly ground: "plain" | "soft" | "tint";
  /** The vendor's line on top, as the page or as a band over its whole width. */
  readonly head: "plain" | "band";
  readonly style: {
    readonly font: string;
    readonly headingFont: string;
    readonly headingWeight: string;
    /** Before the heading of a part; no reader speaks it. */
    readonly headingMark: string;
    readonly radius: string;
    readonly buttonRadius: string;
    readonly cardBorder: string;
    readonly cardTop: string;
    readonly cardShadow: string;
    /** How far a part's content is from its edge, above and beside, in the density's space. */
    readonly cardAbove: string;
    readonly cardBeside: string;
  };
}

const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const SERIF = 'Charter, Georgia, Cambria, "Liberation Serif", serif';
const MONO = 'ui-monospace, "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace';
const ROUND =
  'ui-rounded, "Hiragino Maru Gothic ProN", "Arial Rounded MT Bold", Nunito, Verdana, "DejaVu Sans", sans-serif';

const PRESETS: Readonly<Record<Appearance["preset"], Preset>> = {
  clean: {
    ground: "soft",
    head: "plain",
    style: {
      font: SANS,
      headingFont: SANS,
      headingWeight: "600",
      headingMark: '""',
      radius: ".625rem",
      buttonRadius: ".5rem",
      cardBorder: "1px solid var(--line)",
      cardTop: "1px solid var(--line)",
      cardShadow: "0 1px 3px #0000001a",
      cardAbove: "1.25",
      cardBeside: "1.25",
    },
  },
  technical: {
    ground: "plain",
    head: "plain",
    style: {
      font: SANS,
      headingFont: MONO,
      headingWeight: "700",
      headingMark: '"# "',
      radius: "0",
      buttonRadius: "0",
      cardBorder: "1px dashed var(--edge)",
      cardTop: "1px solid var(--edge)",
      cardShadow: "none",
      cardAbove: "1",
      cardBeside: "1",
    },
  },
  enterprise: {
    ground: "soft",
    head: "band",
    style: {
      font: SANS,
      headingFont: SERIF,
      headingWeight: "700",
      headingMark: '""',
      radius: ".25rem",
      buttonRadius: ".25rem",
      cardBorder: "1px solid var(--line)",
      cardTop: "3px solid var(--accent)",
      cardShadow: "none",
      cardAbove: "1.25",
      cardBeside: "1.25",
    },
  },
  playful: {
    ground: "tint",
    head: "plain",
    style: {
      font: ROUND,
      headingFont: ROUND,
      headingWeight: "800",
      headingMark: '""',
      radius: "1.25rem",
      buttonRadius: "999px",
      cardBorder: "2px solid var(--accent)",
      cardTop: "2px solid var(--accent)",
      cardShadow: "0 .3rem 0 var(--accent)",
      cardAbove: "1.25",
      cardBeside: "1.25",
    },
  },
  minimal: {
    ground: "plain",
    head: "plain",
    style: {
      font: SANS,
      headingFont: SANS,
      headingWeight: "400",
      headingMark: '""',
      radius: ".25rem",
      buttonRadius: ".25rem",
      cardBorder: "0 solid",
      cardTop: "1px solid var(--line)",
      cardShadow: "none",
      cardAbove: "1",
      cardBeside: "0",
    },
  },
};

interface Colour {
  readonly accent: string;
  /** The same, so thin that text stands on it. */
  readonly tint: string;
}

const COLOURS: Readonly<Record<Appearance["accentColor"], Readonly<Record<Scheme, Colour>>>> = {
  blue: { light: { accent: "#1d4ed8", tint: "#eff4ff" }, dark: { accent: "#93b4ff", tint: "#172036" } },
  purple: { light: { accent: "#7e22ce", tint: "#f7f0ff" }, dark: { accent: "#c9a4ff", tint: "#241a36" } },
  green: { light: { accent: "#166534", tint: "#eefaf2" }, dark: { accent: "#7ddba3", tint: "#12291c" } },
  orange: { light: { accent: "#b63d0b", tint: "#fff4ec" }, dark: { accent: "#ffb083", tint: "#33200f" } },
  pink: { light: { accent: "#be185d", tint: "#fff0f6" }, dark: { accent: "#ff9ec6", tint: "#351827" } },
  slate: { light: { accent: "#334155", tint: "#f1f4f8" }, dark: { accent: "#b8c4d6", tint: "#1d2530" } },
};

const DENSITIES: Readonly<Record<Appearance["density"], { readonly space: string; readonly text: string }>> = {
  comfortable: { space: "1rem", text: "1rem/1.5" },
  compact: { space: ".5rem", text: ".9375rem/1.4" },
};

const BASE: Readonly<Record<Scheme, Palette>> = { light: LIGHT, dark: DARK };

/** The colours that the page of a portal has besides. */
export interface PortalPalette extends Palette {
  /** Between what is not to be told apart by it alone. */
  readonly line: string;
  readonly head: string;
  readonly onHead: string;
  /** Behind the vendor's initials. */
  readonly tile: string;
  readonly onTile: string;
}

type Chosen = Pick<Appearance, "preset" | "accentColor" | "density">;

/** Pure. In the dark a band of the accent would glare: there it is the tint. */
export function paletteOf({ preset, accentColor }: Omit<Chosen, "density">, scheme: Scheme): PortalPalette {
  const base = BASE[scheme];
  const { accent, tint } = COLOURS[accentColor][scheme];
  const { onAccent } = base;
  const { ground, head } = PRESETS[preset];
  const page = { plain: base.page, soft: scheme === "light" ? base.soft : base.page, tint }[ground];
  const isBand = head === "band";
  const isGlaring = scheme === "dark";
  return {
    ...base,
    accent,
    page,
    line: scheme === "light" ? "#d9dce2" : "#3a3f48",
    head: isBand ? (isGlaring ? tint : accent) : page,
    onHead: isBand && !isGlaring ? onAccent : base.text,
    tile: isBand && !isGlaring ? onAccent : accent,
    onTile: isBand && !isGlaring ? accent : onAccent,
  };
}

/** The rules that make the page look as its vendor chose. Pure; nothing that a person typed comes into them. */
export function lookOf(chosen: Chosen): string {
  const { style } = PRESETS[chosen.preset];
  const { space, text } = DENSITIES[chosen.density];
  return `${colours(paletteOf(chosen, "light"), paletteOf(chosen, "dark"))}
:root { ${properties({ ...style, mono: MONO, space })} }
body { font: ${text} var(--font); }
${RULES}`;
}

const RULES = `
h1, h2, h3, .vendor { font-family: var(--heading-font); font-weight: var(--heading-weight); }
h1 { font-size: 1.75rem; margin: calc(1.5 * var(--space)) 0 calc(.5 * var(--space)); }
h2 { margin: 0 0 calc(.5 * var(--space)); }
h2:last-child { margin: 0; }
h2::before { content: var(--heading-mark); content: var(--heading-mark) / ""; color: var(--accent); }
h3 { margin: calc(1.25 * var(--space)) 0 calc(.25 * var(--space)); }
p { margin: calc(.75 * var(--space)) 0 0; }
.subtitle { margin: 0; color: var(--quiet); font-size: 1.125em; }
.brand { display: flex; align-items: center; gap: .75rem; margin: -1rem 0 0; padding: var(--space) 0; background: var(--head);
  color: var(--on-head); box-shadow: 0 0 0 100vmax var(--head); clip-path: inset(0 -100vmax); }
.brand p { margin: 0; }
.vendor { flex: 1; min-width: 0; font-size: 1.125rem; }
.mark { font-size: .875rem; font-weight: 400; }
.avatar { position: relative; flex: none; width: 2.5rem; height: 2.5rem; overflow: hidden; border-radius: min(var(--radius), .75rem);
  background: var(--tile); color: var(--on-tile); font: 600 1rem/2.5rem var(--font); text-align: center; }
.avatar img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; background: var(--card); }
section { margin: var(--space) 0 0; padding: calc(var(--card-above) * var(--space)) calc(var(--card-beside) * var(--space)); border: var(--card-border); border-top: var(--card-top);
  border-radius: var(--radius); background: var(--card); box-shadow: var(--card-shadow); }
button { border-radius: var(--button-radius); }
.copy { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.note { border-color: var(--accent); margin: var(--space) 0 0; }
dl { gap: calc(.25 * var(--space)) 1rem; }
pre { margin: calc(.5 * var(--space)) 0 0; padding: calc(.75 * var(--space)); border-radius: min(var(--radius), .75rem); }
footer { margin: var(--space) 0 0; }
`;
