/**
 * Lists by reflection what of `roots`, and of all that is reachable from them, acts on the system: objects of libuv, and functions of
 * Node.js that signal, load, open or start something. It names nothing from outside of itself: its text is put into a plugin.
 */
export function findNatives(roots: readonly unknown[]): readonly string[] {
  const methods = new Set(
    (
      "connect connect6 bind bind6 listen open openSync readStart readStop shutdown writev writeBuffer writeUtf8String writeLatin1String " +
      "writeAsciiString writeUcs2String fchmod setPendingInstances getsockname getpeername spawn kill _kill setBlocking setRawMode " +
      "getWindowSize recvStart send send6 addMembership dlopen execve reallyExit abort chdir binding _linkedBinding internalBinding " +
      "getBuiltinModule _debugProcess _debugEnd _startProfilerIdleNotifier _getActiveHandles _getActiveRequests setuid setgid umask " +
      "compileFunction runInContext postMessage loadEnvFile startThread takeHeapSnapshot writeReport setFlagsFromString readFileUtf8 " +
      "writeFileUtf8 internalModuleStat getNamespace setEngine createCachedData"
    ).split(" "),
  );
  const classes =
    /^(Pipe|TCP|TTY|UDP|Process|Signal|FSEvent|StatWatcher|FileHandle|MessagePort|MessageChannel|Worker|ModuleWrap|ContextifyScript|FSReqCallback|WriteWrap|ShutdownWrap|\w*ConnectWrap|HandleWrap|LibuvStreamWrap|StreamBase|JSStream|ChannelWrap|WASI|Connection|DatabaseSync|Socket|Server|ReadStream|WriteStream)$/;
  const harmless = new Set<unknown>([Function.prototype.bind]);
  const source = Function.prototype.toString;
  const seen = new Set<unknown>();
  const found = new Set<string>();
  const ways: [unknown, string][] = roots.map((root, at) => [root, `${at}`]);
  const judge = (value: object, key: PropertyKey, held: unknown, way: string): void => {
    if (typeof held !== "function" || harmless.has(held)) return;
    const name = String(key);
    const isNative = source.call(held).includes("[native code]");
    if (isNative && methods.has(name)) found.add(`${way}.${name}`);
    if (name === "constructor" && isNative && classes.test(held.name)) found.add(`${way} is ${held.name}`);
    if (name !== "constructor" && held === (value as { constructor?: unknown }).constructor) return;
    if (classes.test(held.name)) found.add(`${way}.${name} is ${held.name}`);
  };
  for (let next = ways.pop(); next !== undefined; next = ways.pop()) {
    const [value, way] = next;
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
    seen.add(value);
    if (seen.size > 200_000) throw new Error(`no end at ${way}`);
    ways.push([Object.getPrototypeOf(value), `${way}.__proto__`]);
    if (value instanceof Map || value instanceof Set) {
      try {
        for (const each of value) ways.push([each, `${way}[]`]);
      } catch {
        // The prototype of all maps has no elements.
      }
    }
    for (const key of Reflect.ownKeys(value)) {
      const name = `${way}.${String(key)}`;
      const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key) ?? {};
      judge(value, key, held, way);
      // How an object of Node.js goes to another thread: it makes a port.
      if (typeof key === "symbol" && key.description?.startsWith("messaging_")) found.add(name);
      ways.push([held, name], [get, `${name}(get)`], [set, `${name}(set)`]);
      if (get === undefined) continue;
      try {
        const got: unknown = Reflect.get(value, key);
        judge(value, key, got, way);
        if (got instanceof Promise) got.catch(() => undefined);
        ways.push([got, name]);
      } catch {
        // A getter of a prototype, which has nothing to give.
      }
    }
  }
  return [...found].sort();
}
