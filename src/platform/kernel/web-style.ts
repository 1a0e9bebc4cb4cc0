/** The colours of a page, as `#rrggbb`. Text is at least 4.5 to 1 on what it stands on, edges and marks 3 to 1. */
export interface Palette {
  readonly page: string;
  /** Behind a part of a page that is set off from it. */
  readonly card: string;
  /** Behind lines to copy. */
  readonly soft: string;
  readonly text: string;
  readonly quiet: string;
  readonly edge: string;
  readonly accent: string;
  readonly onAccent: string;
  readonly focus: string;
  readonly good: string;
  readonly bad: string;
  readonly warn: string;
}

export const LIGHT: Palette = {
  page: "#ffffff",
  card: "#ffffff",
  soft: "#f3f4f6",
  text: "#111318",
  quiet: "#4b5563",
  edge: "#6b7280",
  accent: "#1d4ed8",
  onAccent: "#ffffff",
  focus: "#b45309",
  good: "#15633a",
  bad: "#a61b1b",
  warn: "#7a4b00",
};

export const DARK: Palette = {
  page: "#121417",
  card: "#1a1d22",
  soft: "#262a31",
  text: "#f3f4f6",
  quiet: "#b6bcc8",
  edge: "#9ca3af",
  accent: "#93b4ff",
  onAccent: "#0d1117",
  focus: "#f59e0b",
  good: "#7ddba3",
  bad: "#ff9d9d",
  warn: "#f5c46b",
};

/** Custom properties: `{ onAccent: "#fff" }` is `--on-accent: #fff;`. */
export function properties(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `--${name.replace(/[A-Z]/g, (each) => `-${each.toLowerCase()}`)}: ${value};`)
    .join(" ");
}

/** The colours by what the browser prefers. */
export function colours(light: Palette, dark: Palette): string {
  return `:root { ${properties(light)} }
@media (prefers-color-scheme: dark) { :root { ${properties(dark)} } }`;
}

/** Nothing moves in it. */
export const STYLE = `
${colours(LIGHT, DARK)}
:root { color-scheme: light dark; --font: system-ui, sans-serif; --mono: ui-monospace, monospace; --radius: .375rem; --space: 1rem; }
body { font: 1rem/1.5 var(--font); margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: var(--page); color: var(--text); }
main { width: min(24rem, 100vw - 2rem); padding: 1rem 0; overflow-wrap: anywhere; }
.wide { width: min(46rem, 100vw - 2rem); align-self: start; }
a { color: var(--accent); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.125rem; line-height: 1.25; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; line-height: 1.25; margin: 1.25rem 0 .25rem; }
.mark { margin: 0 0 .5rem; font-weight: 600; letter-spacing: .02em; }
label { display: block; margin: 1rem 0 .25rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .75rem; border: 1px solid var(--edge);
  border-radius: var(--radius); background: Field; color: FieldText; }
button, .button { font: inherit; display: block; width: 100%; box-sizing: border-box; text-align: center; margin: 1rem 0 0;
  padding: .625rem 1rem; border: 1px solid var(--accent); border-radius: var(--radius); background: var(--accent);
  color: var(--on-accent); text-decoration: none; cursor: pointer; }
.second, .small { background: transparent; color: inherit; border-color: var(--edge); }
.small { display: inline-block; width: auto; margin: .25rem 0 0; padding: .25rem .75rem; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.note { border-left: 4px solid var(--focus); padding: .25rem .75rem; margin: 1.5rem 0 0; }
.who { font-weight: 600; overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .75rem; border: 1px solid var(--edge); border-radius: var(--radius); background: var(--soft);
  font: .875rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: var(--mono); font-size: .9em; }
pre code { font-size: 1em; }
dl { display: grid; grid-template-columns: minmax(0, 9rem) minmax(0, 1fr); gap: .25rem 1rem; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
ul, ol { margin: .5rem 0 0; padding-left: 1.25rem; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.warn { color: var(--warn); font-weight: 600; }
.copy { display: none; }
.scripted .copy { display: inline-block; }
@media (max-width: 30rem) { dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin: 0 0 .5rem; } }
`;
