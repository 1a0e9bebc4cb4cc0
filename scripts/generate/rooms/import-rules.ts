import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Part, ROOMS, type Room } from "./room-table.ts";

/** What no room of src may import: it is not part of the product. */
const OUTSIDE = ["deploy", "lab", "scripts", "test"];
const SEE = 'See docs/contributing.md, "Rooms".';

interface Pattern {
  readonly group: readonly string[];
  readonly message: string;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "nothing" : names.join(", ");
}

/** Matches an import of a file in one of these folders. */
function within(names: readonly string[]): string {
  return names.length === 1 ? `**/${names[0]}/**` : `**/{${names.join(",")}}/**`;
}

function roomPattern(name: string, room: Part): Pattern {
  const refused = [...Object.keys(ROOMS), ...OUTSIDE].filter(
    (other) => other !== name && !room.imports.includes(other),
  );
  return { group: [within(refused)], message: `${name} imports of ours only: ${listed(room.imports)}. ${SEE}` };
}

function packagePattern(name: string, packages: readonly string[]): Pattern {
  return {
    group: ["**", "!./**", "!../**", "!node:*", "!node:*/**", ...packages.flatMap((one) => [`!${one}`, `!${one}/**`])],
    message: `${name} uses only these packages: ${listed(packages)}. ${SEE}`,
  };
}

/**
 * Refuses the other folders of the room, and its settings (`platform-config.ts`), which gather those of the folders.
 * A folder of another room may have the same name: it is let through.
 */
function folderPatterns(roomName: string, room: Room, name: string, folder: Part): Pattern[] {
  const refused = Object.keys(room.folders ?? {}).filter((other) => other !== name && !folder.imports.includes(other));
  if (refused.length === 0) return [];
  const others = room.imports.filter((other) => !refused.includes(other)).map((other) => `!**/${other}/**`);
  const message = `${roomName}/${name} imports of ${roomName} only: ${listed(folder.imports)}. ${SEE}`;
  return [{ group: [within(refused), `**/${roomName}-config.ts`, ...others], message }];
}

function override(includes: readonly string[], patterns: readonly Pattern[]): object {
  const rule = { level: "error", options: { patterns } };
  return { includes, linter: { rules: { style: { noRestrictedImports: rule } } } };
}

/** A later override takes the place of an earlier one: each has all patterns of its files. */
function overrides(name: string, room: Room): object[] {
  const own = roomPattern(name, room);
  return [
    override([`src/${name}/**/testing/**`, "!**/*.test.ts"], [own]),
    override([`src/${name}/**`, "!**/*.test.ts", "!**/testing/**"], [own, packagePattern(name, room.packages)]),
    ...Object.entries(room.folders ?? {}).map(([folderName, folder]) =>
      override(
        [`src/${name}/${folderName}/**`, "!**/*.test.ts", "!**/testing/**"],
        [
          own,
          packagePattern(folder.packages ? `${name}/${folderName}` : name, folder.packages ?? room.packages),
          ...folderPatterns(name, room, folderName, folder),
        ],
      ),
    ),
  ];
}

/** Rows of tables know no other code of the database: a migration may come before or after them. */
const TABLES: Pattern = {
  group: ["../*.ts", "../migrations/**"],
  message: `platform/database/tables imports only the contract. ${SEE}`,
};

function tablesOverride(platform: Room): object {
  const name = "platform/database/tables";
  return override(
    [`src/${name}/**`, "!**/*.test.ts"],
    [
      roomPattern("platform", platform),
      packagePattern(name, ["kysely", "typebox"]),
      ...folderPatterns("platform", platform, "database", { is: "", imports: [] }),
      TABLES,
    ],
  );
}

/** A folder that the table does not name would be free to import: the table must name every one. */
function refuseUnlisted(root: string): void {
  const folders = (path: string): string[] =>
    readdirSync(join(root, path), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "testing")
      .map(({ name }) => name);
  const compare = (path: string, names: readonly string[]): void => {
    const missing = folders(path).find((name) => !names.includes(name));
    if (missing) throw new Error(`scripts/generate/rooms/room-table.ts does not name ${path}/${missing}`);
    const surplus = names.find((name) => !existsSync(join(root, path, name)));
    if (surplus) throw new Error(`scripts/generate/rooms/room-table.ts names ${path}/${surplus}, which does not exist`);
  };
  compare("src", Object.keys(ROOMS));
  for (const [name, room] of Object.entries(ROOMS)) {
    if (room.folders) compare(`src/${name}`, Object.keys(room.folders));
  }
}

/** biome.rooms.json: the allowed imports of every room and folder, as rules of Biome. */
export function importRules(root: string): string {
  refuseUnlisted(root);
  const rules = Object.entries(ROOMS).flatMap(([name, room]) => [
    ...overrides(name, room),
    ...(name === "platform" ? [tablesOverride(room)] : []),
  ]);
  return `{ "overrides": [\n${rules.map((rule) => JSON.stringify(rule)).join(",\n")}\n] }\n`;
}
