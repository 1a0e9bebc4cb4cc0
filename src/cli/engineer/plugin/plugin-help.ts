import { describeExitCodes } from "../exit-codes.ts";

export const PLUGIN_SUMMARY =
  "Makes, checks, tries and uploads a plugin: operations of your own for customers' clusters.";

const FORMAT = "  -o table|json|yaml    form of the answer";

const HELPS: Readonly<Record<string, string>> = {
  init: `usage: sallyport plugin init DIR

Writes a plugin that passes its check into a new or empty folder: plugin.yaml, plugin.mjs, README.md.

${FORMAT}
`,
  check: `usage: sallyport plugin check DIR

Reads plugin.yaml (shape, rules, schemas of params) and plugin.mjs (its imports, and an operation for each that plugin.yaml
declares), loads plugin.mjs in a locked-down process as the operator does, and says each problem with its place. No operation is run.
On Linux the process runs in namespaces of its own where bwrap or unshare can make them; stderr says which, or warns that there are none.
Exit code 1: there are problems.

${FORMAT}
`,
  pack: `usage: sallyport plugin pack DIR [--out FILE]

Checks, and writes metadata.json and plugin.mjs into an archive. The same files make the same bytes on every machine.

  --out FILE            default: NAME-VERSION.zip, here
${FORMAT}
`,
  values: `usage: sallyport plugin values FILE.zip

Prints the values with which a customer's chart lets the plugin's operations run, with comments for the person who decides.

  -o json               the same without comments
`,
  test: `usage: sallyport plugin test DIR OPERATION [--params NAME=VALUE …] [options]

Checks, then runs one operation against the API server of your own kubeconfig, with your rights, narrowed to the operation's
rules and to what a customer's admission policies let a plugin change, and says each request. Changes are sent as a dry run
(dryRun=All). The code runs in a process of its own, as in the operator: without files, network and environment, and as for check.

  --params NAME=VALUE   once for each param; a text where the schema says so, else JSON
  -n, --namespace NAME  the param namespace
  --apply               really changes it, and runs verify
  --kubeconfig FILE     default: the files of KUBECONFIG, which are one, else ~/.kube/config. Without one nothing is run: exit code 8
  --context NAME        default: the file's current one
${FORMAT}; json and yaml have result, dropped, verified
`,
  upload: `usage: sallyport plugin upload FILE.zip --project PROJECT

Checks the archive as check does, uploads it and registers the plugin in the project; takes the place of a version of the same name.

  --project NAME        needed where the credential is not of one project
  -o table|json|yaml    form of the answer
  --profile NAME        which sign-in; default: the current one, or SALLYPORT_PROFILE
  --workspace NAME      for credentials that do not imply one; default: SALLYPORT_WORKSPACE
`,
};

export function pluginHelp(word: string): string {
  const known = Object.hasOwn(HELPS, word) ? HELPS[word] : undefined;
  if (known !== undefined) return known;
  const usages = Object.values(HELPS).map((text) => text.slice("usage: ".length, text.indexOf("\n")));
  return `${PLUGIN_SUMMARY} docs/plugins.md has the whole way.

usage:
${usages.map((usage) => `  ${usage}`).join("\n")}

Exit codes:
${describeExitCodes()}

sallyport plugin VERB --help says more.
`;
}
