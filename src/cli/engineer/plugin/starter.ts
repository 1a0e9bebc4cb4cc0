import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { MODULE_FILE } from "../../../plugins/metadata.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { readSource, SOURCE_FILE } from "./plugin-folder.ts";
import { problemLines } from "./problem.ts";

/** Writes the files of a plugin that passes its check. @returns their names. @throws FriendlyError when there are files already */
export async function writeStarter(folder: string): Promise<readonly string[]> {
  const path = resolve(folder);
  const name = nameFrom(basename(path));
  const source = YAML.replace("NAME", name);
  const { problems } = readSource(source);
  if (problems.length > 0) {
    throw new FriendlyError(
      `a plugin is named after its folder; name another than ${folder}:${problemLines(problems)}`,
    );
  }
  await mkdir(path, { recursive: true });
  if ((await readdir(path)).length > 0) throw new FriendlyError(`${folder} is not empty: name a new folder`);
  const files = { [SOURCE_FILE]: source, [MODULE_FILE]: MODULE, "README.md": readme(name) };
  for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text, { flag: "wx" });
  return Object.keys(files);
}

/** The folder's name, as far as a plugin may have it. */
function nameFrom(folder: string): string {
  const words = folder.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.join("-").slice(0, 48).replace(/-$/, "") || "my-plugin";
}

const YAML = `name: NAME
version: 0.1.0
tier: read-only                 # of operations that have no tier of their own: read-only, mutating, destructive
description: Looks after what our application keeps in its ConfigMaps.
operations:
  - name: show-mode
    description: Reads the mode of one application.
    paramsSchema:
      type: object
      required: [namespace, name]
      properties:
        namespace: { type: string, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63, description: Namespace of the application. }
        name: { type: string, pattern: "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", maxLength: 253, description: Name of its ConfigMap. }
      additionalProperties: false
    rules:
      - { apiGroups: [""], resources: [configmaps], verbs: [get] }
    timeLimitSeconds: 30
    result:
      mode: the mode that the ConfigMap has

  - name: set-mode
    tier: mutating
    description: Sets the mode of one application.
    paramsSchema:
      type: object
      required: [namespace, name, mode]
      properties:
        namespace: { type: string, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63, description: Namespace of the application. }
        name: { type: string, pattern: "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", maxLength: 253, description: Name of its ConfigMap. }
        mode: { type: string, enum: [normal, read-only], description: What the application is to do. }
      additionalProperties: false
    rules:
      - { apiGroups: [""], resources: [configmaps], verbs: [get, patch] }
    timeLimitSeconds: 30
    result:
      before: the mode that it had
      mode: the mode that it has now
`;

const MODULE = `import { defineOperation, OperationError } from "@sallyport/plugin";

const CONFIG_MAPS = { group: "", version: "v1", plural: "configmaps" };

async function modeOf(client, { namespace, name }) {
  const found = await client.get(CONFIG_MAPS, { namespace, name });
  // An OperationError says: I looked, and no. The engineer reads its words.
  if (found === undefined) throw new OperationError(\`there is no ConfigMap \${name} in \${namespace}\`);
  return { mode: found.data?.mode ?? "normal", resourceVersion: found.metadata.resourceVersion };
}

const showMode = defineOperation({
  async run({ client, params }) {
    const { mode } = await modeOf(client, params);
    return { mode };
  },
});

const setMode = defineOperation({
  async run({ client, params }) {
    const { namespace, name, mode } = params;
    const { mode: before, resourceVersion } = await modeOf(client, params);
    if (before === mode) return { before, mode };
    // With the resourceVersion that was read, the API server refuses the change when another was first.
    await client.patch(CONFIG_MAPS, { namespace, name }, { metadata: { resourceVersion }, data: { mode } });
    return { before, mode };
  },
  // Called after run: reads back whether the cluster shows what was asked for.
  async verify({ client, params }, done) {
    const { mode } = await modeOf(client, params);
    if (mode !== done.mode) throw new OperationError(\`the mode is \${mode}: something else has set it\`);
    return done;
  },
});

export default { "show-mode": showMode, "set-mode": setMode };
`;

function readme(name: string): string {
  return `# ${name}

A plugin of Sallyport: operations of our own that a customer can let run in their cluster.

\`\`\`sh
sallyport plugin check .
sallyport plugin test . show-mode --namespace shop --params name=web          # with your own kubeconfig
sallyport plugin test . set-mode --namespace shop --params name=web --params mode=read-only
sallyport plugin pack .
sallyport plugin values ${name}-0.1.0.zip > values-${name}.yaml               # for the customer's chart
sallyport plugin upload ${name}-0.1.0.zip --project PROJECT
\`\`\`

\`plugin.yaml\` says what each operation is, needs and tells; \`plugin.mjs\` does it. For types in an editor: \`npm install @sallyport/plugin\`.
`;
}
