import { type Rule, unchanged } from "../schema.ts";

/** On an object with a status: a rule on the status alone does not see it go. */
export const STATUS_STAYS: Rule = {
  rule: "!has(oldSelf.status) || has(self.status)",
  message: "status cannot be wiped",
};

/** On an object that ends: a yes after that would stand on record as the approval of what was denied. */
export const SAID_IN_TIME: Rule = {
  rule: "!has(oldSelf.status) || !has(oldSelf.status.finishedAt) || self.spec == oldSelf.spec",
  message: "it is over: no word on it counts any more",
};

/** On the object: its name is made of `field` of its spec, as `objectName` makes it. */
export function namedAfter(field: string): Rule {
  return {
    rule: `self.metadata.name == self.spec.${field}.lowerAscii().replace('_', '-').replace('.', '-')`,
    message: `the name must be ${field} in lower case with _ and . turned into -`,
  };
}

/** On the spec: what was asked for never changes. `fields` are always there, `optional` ones may be left out at create. */
export function asAsked(fields: readonly string[], optional: readonly string[], message: string): Rule {
  const same = fields.map((field) => `self.${field} == oldSelf.${field}`);
  return { rule: [...same, ...optional.map(unchanged)].join(" && "), message };
}

/** On the spec: once the first of `fields` is there, none of them changes, comes or goes. */
export function saidOnce(fields: readonly [string, ...string[]], message: string): Rule {
  return { rule: `!has(oldSelf.${fields[0]}) || (${fields.map(unchanged).join(" && ")})`, message };
}

/** On the level that has `fields`: each is set once, and neither changed nor dropped. */
export function writeOnce(...fields: readonly string[]): readonly Rule[] {
  return fields.map((field) => ({
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} == oldSelf.${field})`,
    message: `${field} is write-once`,
  }));
}

/** On the status: `state` goes only where `next` leads, which names the state itself where it may stay. */
export function stateGoesOn(next: Readonly<Record<string, readonly string[]>>, message: string): Rule {
  const ways = Object.entries(next).map(
    ([from, to]) => `(oldSelf.state == '${from}' && self.state in [${to.map((state) => `'${state}'`).join(", ")}])`,
  );
  return { rule: `!has(oldSelf.state) || (has(self.state) && (${ways.join(" || ")}))`, message };
}
