/** With these an object goes to another thread, by way of a port: an object of Node.js with a class of its own. */
const TRANSFER = /^messaging_/;

/**
 * Freezes all that is reachable from `roots`, so that a plugin can plant nothing by which Node's own code would hand it an object.
 * `--frozen-intrinsics` has done this for the objects of the language: they stay as they are.
 *
 * @returns when nothing new is found
 */
export function freezeReachable(roots: readonly unknown[]): void {
  const seen = new Set<unknown>();
  const prototypes = new Set<unknown>();
  const found: unknown[] = [...roots];
  for (let next = found.pop(); found.length > 0 || next !== undefined; next = found.pop()) {
    if (!isObject(next) || seen.has(next)) continue;
    seen.add(next);
    const above: unknown = Object.getPrototypeOf(next);
    if (isObject(above)) prototypes.add(above);
    found.push(above);
    for (const key of Reflect.ownKeys(next)) {
      if (typeof key === "symbol" && TRANSFER.test(key.description ?? "") && Reflect.deleteProperty(next, key))
        continue;
      const { value, get, set } = Object.getOwnPropertyDescriptor(next, key) ?? {};
      if (key === "prototype" && isObject(value)) prototypes.add(value);
      found.push(value, get, set, get && given(next, key));
    }
  }
  for (const each of seen) if (isObject(each)) freeze(each, prototypes.has(each));
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** What a getter gives. One of a class is not called: there is no instance, and some set the class up as if it were one. */
function given(owner: object, key: PropertyKey): unknown {
  return Object.hasOwn(owner, "constructor") ? undefined : Reflect.get(owner, key);
}

function freeze(owner: object, isPrototype: boolean): void {
  // A plugin may have global names of its own. Those that there are stay what they are.
  if (owner !== globalThis) Object.preventExtensions(owner);
  for (const key of Reflect.ownKeys(owner)) {
    const described = Object.getOwnPropertyDescriptor(owner, key);
    if (described === undefined) continue;
    const { configurable, enumerable, writable, value } = described;
    if (writable === undefined) Reflect.defineProperty(owner, key, { configurable: false });
    else if (isPrototype && configurable && writable)
      Reflect.defineProperty(owner, key, inherited(owner, key, value, enumerable));
    // What Node.js sets on objects that inherit from this one could not be set there.
    else if (!isPrototype || !writable) Reflect.defineProperty(owner, key, { configurable: false, writable: false });
  }
}

/** A value that cannot be changed here, and can be set on what inherits it: a value that is not writable could be set on neither. */
function inherited(owner: object, key: PropertyKey, value: unknown, enumerable = false): PropertyDescriptor {
  const { get, set } = {
    get: () => value,
    set(this: object, own: unknown) {
      if (this === owner) throw new TypeError(`${String(key)} cannot be set: what Node.js brings is frozen`);
      Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
    },
  };
  return { get: Object.freeze(get), set: Object.freeze(set), enumerable, configurable: false };
}
