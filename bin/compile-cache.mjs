/**
 * Code that V8 has compiled once is kept in a folder of the person's own, and runs with their kubeconfig. Node's default is a
 * folder that each user of the machine may make first. So it is kept only where nobody else can write; elsewhere a command starts
 * slower.
 */
export function keepCompiled() {
  // Not by `import`, which takes as long again for what Node.js has loaded already.
  const [{ mkdirSync, lstatSync, statSync }, { enableCompileCache }, { homedir }, { isAbsolute, join }] = [
    "fs",
    "module",
    "os",
    "path",
  ].map((name) => process.getBuiltinModule(name));
  // biome-ignore lint/style/noProcessEnv: where a person's caches are.
  const named = process.env.XDG_CACHE_HOME ?? "";
  // Its specification says to ignore a relative one: it would be in a folder of another's, such as a checkout.
  const base = isAbsolute(named) ? named : join(homedir(), ".cache");
  const ours = join(base, "sallyport");
  const cache = join(ours, "compiled");
  const uid = process.geteuid?.();
  const isOurs = (folder) => folder.isDirectory() && folder.uid === uid && (folder.mode & 0o022) === 0;
  // Who may rename in it may put another folder in place of ours; in one such as /tmp only owners may.
  const keepsOurs = ({ uid: owner, mode }) =>
    [0, uid].includes(owner) && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0);
  try {
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    if (uid === undefined || (keepsOurs(statSync(base)) && [ours, cache].every((each) => isOurs(lstatSync(each)))))
      enableCompileCache(cache);
  } catch {
    // A home that cannot be written to.
  }
}
