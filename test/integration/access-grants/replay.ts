import type { Cluster } from "../../../lab/cluster/cluster.ts";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";
import { planHash } from "../../../src/crds/plan.ts";
import { Terminal } from "../typed/terminal.ts";

/**
 * `cases.json`: what each identity tries with plain kubectl, and what the API server must answer. The first of each verb
 * is typed with kubectl, the others are the requests that it would send.
 *
 * A step is {as, kubectl} or {as, create}; objects among kubectl's arguments are sent as JSON. Every step but the last
 * must be allowed unless it says otherwise; `expect` and `messageContains` judge the last. `as` is admin, agent,
 * operator, a person, or `sa:namespace/name`. `{{hash}}` is the hash of the plan created last, `{{hash1}}` of the
 * first.
 */
export interface Suite {
  readonly namespaces: { readonly grants: string; readonly system: string; readonly target: string };
  readonly people: Readonly<Record<string, readonly string[]>>;
  readonly fixtures: readonly Json[];
  readonly templates: Readonly<Record<string, Json>>;
  readonly cases: readonly Case[];
}

export interface Case {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly Step[];
  readonly expect: Verdict;
  readonly messageContains?: string | readonly string[];
  readonly then?: readonly Look[];
  /** Policies that judge the last step; the sample of the cases takes the first of each. */
  readonly passes?: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;
type Verdict = "allowed" | "refused";
type Vars = Record<string, string>;

interface Step {
  readonly as: string;
  readonly kubectl?: readonly unknown[];
  readonly create?: { readonly use: string; readonly set?: Json };
  readonly args?: readonly string[];
  readonly stdin?: unknown;
  /** What is judged are words of kubectl itself, and not of the API server. */
  readonly withKubectl?: true;
  /** The validating policy that refuses it. */
  readonly policy?: string;
  /** The steps run at the same time, and exactly one must be allowed. */
  readonly race?: readonly Step[];
  readonly expect?: Verdict;
  readonly messageContains?: string | readonly string[];
  /** Repeats for this long: the authorizer's and the token caches need time. */
  readonly withinSeconds?: number;
  readonly save?: Readonly<Record<string, string>>;
}

interface Look {
  readonly get: readonly string[];
  readonly namespace?: string;
  readonly exists?: boolean;
  readonly path?: string | readonly string[];
  readonly equals?: unknown;
  readonly absent?: boolean;
}

/** Replays cases on one cluster. Each case gets names of its own, so cases can run at the same time. */
export class Replay implements Disposable {
  readonly #cluster: Cluster;
  readonly #terminal: Terminal;
  readonly #suite: Suite;
  readonly #typesNames: boolean;
  readonly #kubeconfigs = new Map<string, Promise<string>>();

  /** @param options.typesNames who decides types the own name too, as on an API server that cannot stamp it */
  constructor(cluster: Cluster, suite: Suite, options: { readonly typesNames?: boolean } = {}) {
    this.#cluster = cluster;
    this.#terminal = new Terminal(() => cluster);
    this.#suite = suite;
    this.#typesNames = options.typesNames === true;
  }

  [Symbol.dispose](): void {
    this.#terminal[Symbol.dispose]();
  }

  /** Undefined when the case holds, else what was different. */
  async run(testCase: Case): Promise<string | undefined> {
    const vars: Vars = {
      ...this.#suite.namespaces,
      run: "t",
      name: testCase.id.toLowerCase(),
      other: `${testCase.id.toLowerCase()}-b`,
      otherHash: `sha256:${"b".repeat(64)}`,
      in24h: instant(24 * 3600),
      hourAgo: instant(-3600),
    };
    for (const [at, step] of testCase.steps.entries()) {
      const isLast = at === testCase.steps.length - 1;
      const expect = step.expect ?? (isLast ? testCase.expect : "allowed");
      const contains = [step.messageContains ?? (isLast ? testCase.messageContains : undefined) ?? []].flat();
      if (step.policy !== undefined) contains.push(`ValidatingAdmissionPolicy '${step.policy}'`);
      const problem = step.race
        ? await this.#race(step.race, contains, vars)
        : await this.#judged(step, expect, contains, vars);
      if (problem !== undefined) return `step ${at + 1}: ${problem}`;
    }
    for (const look of testCase.then ?? []) {
      const problem = await this.#look(look, vars);
      if (problem !== undefined) return `then: ${problem}`;
    }
    return undefined;
  }

  async #judged(step: Step, expect: Verdict, contains: readonly string[], vars: Vars): Promise<string | undefined> {
    const until = performance.now() + (step.withinSeconds ?? 0) * 1000;
    for (;;) {
      const problem = judge(await this.#step(step, vars), expect, contains, vars);
      if (problem === undefined || performance.now() >= until) return problem;
      await new Promise((wake) => setTimeout(wake, 200));
    }
  }

  async #race(steps: readonly Step[], contains: readonly string[], vars: Vars): Promise<string | undefined> {
    const results = await Promise.all(steps.map((step) => this.#step(step, vars)));
    const [loser, ...others] = results.filter(({ code }) => code !== 0);
    if (loser === undefined || others.length !== results.length - 2) {
      return `not exactly one was allowed: ${results.map(said).join(" | ")}`;
    }
    return judge(loser, "refused", contains, vars);
  }

  async #step(step: Step, vars: Vars): Promise<KubectlResult> {
    const kubeconfig = await this.#kubeconfig(String(expand(step.as, vars)));
    const named = <T>(value: T): T => (this.#typesNames ? withName(value, userOf(step, vars)) : value);
    const body = step.create ? this.#fromTemplate(step.create, vars) : named(expand(step.stdin, vars));
    const args = step.create && !step.args ? ["create", "-f", "-"] : (step.args ?? step.kubectl ?? []);
    const words = args
      .map((word) => named(expand(word, vars)))
      .map((word) => (typeof word === "string" ? word : JSON.stringify(word)));
    const how = step.withKubectl === true ? "kubectl" : "type";
    const stdin = body === undefined ? undefined : JSON.stringify(body);
    const result = await this.#terminal[how](kubeconfig, words, stdin);
    if (step.save && result.code === 0) {
      const answer = JSON.parse(result.stdout) as unknown;
      for (const [name, path] of Object.entries(step.save)) vars[name] = String(at(answer, path));
    }
    if (vars.uid !== undefined) vars.uid12 = vars.uid.replaceAll("-", "").slice(0, 12);
    return result;
  }

  #fromTemplate({ use, set = {} }: NonNullable<Step["create"]>, vars: Vars): unknown {
    const draft = structuredClone(this.#suite.templates[use]) as Record<string, unknown>;
    for (const [path, value] of Object.entries(set)) setAt(draft, path, structuredClone(value));
    const filled = expand(draft, { ...vars, planHash: "{{planHash}}" }) as { spec?: Record<string, unknown> };
    const { spec } = filled;
    if (spec?.planHash === "{{planHash}}") spec.planHash = planHash(spec as unknown as Parameters<typeof planHash>[0]);
    if (typeof spec?.planHash === "string") {
      if (vars.hash !== undefined) vars.hash2 = vars.hash;
      vars.hash = spec.planHash;
      vars.hash1 ??= spec.planHash;
    }
    return filled;
  }

  async #look(
    { get, namespace = "{{grants}}", exists, path, equals, absent }: Look,
    vars: Vars,
  ): Promise<string | undefined> {
    const what = get.map((word) => String(expand(word, vars)));
    const where = ["-n", String(expand(namespace, vars)), "-o", "json", "--ignore-not-found"];
    const { code, stdout, stderr } = await this.#terminal.run(this.#cluster.adminKubeconfig, [
      "get",
      ...what,
      ...where,
    ]);
    if (code !== 0) return stderr;
    const object: unknown = stdout === "" ? undefined : JSON.parse(stdout);
    if (exists !== undefined)
      return (object !== undefined) === exists ? undefined : `${what.join("/")} exists: ${!exists}`;
    const value = at(object, path ?? "");
    const wanted = absent === true ? undefined : expand(equals, vars);
    const shown = JSON.stringify(value);
    return shown === JSON.stringify(wanted) ? undefined : `${path} is ${shown}, not ${JSON.stringify(wanted)}`;
  }

  #kubeconfig(as: string): Promise<string> {
    const known = this.#kubeconfigs.get(as) ?? this.#makeKubeconfig(as);
    this.#kubeconfigs.set(as, known);
    return known;
  }

  async #makeKubeconfig(as: string): Promise<string> {
    const { system } = this.#suite.namespaces;
    const account = as === "agent" || as === "operator" ? `sa:${system}/sallyport-${as}` : as;
    if (as === "admin") return this.#cluster.adminKubeconfig;
    const [namespace, name] = account.startsWith("sa:") ? account.slice(3).split("/") : [];
    if (namespace !== undefined && name !== undefined)
      return this.#cluster.kubeconfigForServiceAccount(namespace, name);
    return this.#cluster.kubeconfigFor({ user: as, groups: this.#suite.people[as] ?? [] });
  }
}

/** The name that the API server knows the step's identity by. */
function userOf({ as, kubectl = [] }: Step, vars: Vars): string {
  const impersonated = kubectl.find((word) => typeof word === "string" && word.startsWith("--as="));
  if (typeof impersonated === "string") return impersonated.slice("--as=".length);
  const account = /^sa:(.+)\/(.+)$/.exec(String(expand(as, vars)));
  return account === null ? as : `system:serviceaccount:${account[1]}:${account[2]}`;
}

/** Adds the name to a decision or a revocation that has none. */
function withName<T>(value: T, user: string): T {
  if (typeof value !== "object" || value === null || !("spec" in value)) return value;
  const spec = value.spec as Json;
  const decides = ("approvedForMinutes" in spec || "deniedReason" in spec) && !("decidedBy" in spec);
  const revokes = "revokedReason" in spec && !("revokedBy" in spec);
  return { ...value, spec: { ...spec, ...(decides && { decidedBy: user }), ...(revokes && { revokedBy: user }) } };
}

function instant(inSeconds: number): string {
  return new Date(Date.now() + inSeconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}

function said({ stdout, stderr }: KubectlResult): string {
  return `${stdout}${stderr}`.trim();
}

function judge(result: KubectlResult, expect: Verdict, contains: readonly string[], vars: Vars): string | undefined {
  const words = said(result);
  if ((result.code === 0) !== (expect === "allowed")) return `expected ${expect}, got: ${words.slice(0, 400)}`;
  const missing = contains.find((part) => !words.includes(String(expand(part, vars))));
  return missing === undefined ? undefined : `message lacks ${JSON.stringify(missing)}: ${words.slice(0, 400)}`;
}

/** `{{var}}`, {"$pad": n} for n letters, {"$times": [n, value]} for n copies. */
export function expand(value: unknown, vars: Readonly<Vars>): unknown {
  if (typeof value === "string") {
    return value.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const known = vars[name];
      if (known === undefined) throw new Error(`unknown placeholder ${name}`);
      return known;
    });
  }
  if (Array.isArray(value)) return value.map((entry) => expand(entry, vars));
  if (typeof value !== "object" || value === null) return value;
  if ("$pad" in value) return "x".repeat(Number(value.$pad));
  if ("$times" in value && Array.isArray(value.$times)) {
    const [times, entry] = value.$times as [number, unknown];
    return Array.from({ length: times }, () => expand(entry, vars));
  }
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [expand(key, vars), expand(entry, vars)]));
}

function segments(path: string | readonly string[]): string[] {
  return typeof path === "string" ? path.split(".") : [...path];
}

function at(object: unknown, path: string | readonly string[]): unknown {
  let value = object;
  for (const key of segments(path)) value = (value as Record<string, unknown> | null | undefined)?.[key];
  return value;
}

function setAt(object: Record<string, unknown>, path: string, value: unknown): void {
  const keys = segments(path);
  const last = keys.pop() ?? "";
  let level = object;
  for (const key of keys) {
    level[key] ??= {};
    level = level[key] as Record<string, unknown>;
  }
  if (typeof value === "object" && value !== null && "$unset" in value) delete level[last];
  else level[last] = value;
}
