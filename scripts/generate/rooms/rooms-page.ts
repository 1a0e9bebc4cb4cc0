import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Part, ROOMS } from "./room-table.ts";

const PAGE = "docs/contributing.md";

function row(cell: string, { is }: Part, imports: readonly string[]): string {
  return `| \`${cell}\` | ${is} | ${imports.length === 0 ? "–" : imports.join(", ")} |`;
}

function roomsTable(): string {
  const rows = Object.entries(ROOMS).map(([name, room]) => row(`src/${name}`, room, room.imports));
  return ["| Room | Is | May import of ours |", "|---|---|---|", ...rows].join("\n");
}

function foldersTable(name: string): string {
  const rows = Object.entries(ROOMS[name]?.folders ?? {}).map(([folder, part]) => row(folder, part, part.imports));
  return [`| In \`src/${name}\` | Is | May import of \`src/${name}\` |`, "|---|---|---|", ...rows].join("\n");
}

function between(page: string, what: string, text: string): string {
  const begin = `<!-- Made by \`npm run generate\` from scripts/generate/rooms/room-table.ts: ${what} -->`;
  const end = `<!-- end of ${what} -->`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${PAGE} has lost the line ${begin} or ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}

/** docs/contributing.md with the tables of allowed imports in their places. */
export function roomsPage(root: string): string {
  const page = readFileSync(join(root, PAGE), "utf8");
  const others = Object.keys(ROOMS).filter((name) => name !== "platform" && ROOMS[name]?.folders);
  const tables: [string, string][] = [
    ["rooms", roomsTable()],
    ["platform", foldersTable("platform")],
    ["other folders", others.map(foldersTable).join("\n\n")],
  ];
  return tables.reduce((text, [what, table]) => between(text, what, table), page);
}
