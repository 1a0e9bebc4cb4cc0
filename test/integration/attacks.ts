import { describe, expect, test } from "vitest";
import type { Cluster } from "../../lab/cluster/cluster.ts";
import type { KubectlResult } from "../../lab/cluster/kubectl.ts";
import { eventually } from "../world/wait.ts";
import { useTerminal } from "./typed/terminal.ts";

/** What one account types after `kubectl`. */
export interface Try<Who extends string> {
  readonly as: Who;
  /** A function where it names what is made only before the tests. */
  readonly args: readonly string[] | (() => readonly string[]);
  readonly stdin?: (() => object) | undefined;
}

/** What an admission policy refuses. */
export interface Attack<Who extends string> extends Try<Who> {
  readonly title: string;
  readonly policy: string;
  /** The policy's own words, which nothing else says. */
  readonly words: string;
  /** kubectl has no dry run of it: it is not tried without its policy, where it would come to pass. */
  readonly isReal?: true;
  /** Where another policy refuses it. */
  readonly unless?: "releases bring secret values";
  /** The mutating policy that is away while it is tried. */
  readonly without?: string;
}

/** What the policies let through. */
export interface Passage<Who extends string> extends Try<Who> {
  readonly title: string;
  /** Policies that judge it; the sample of the tables takes the first of each. */
  readonly passes?: readonly string[];
  /** How it ends behind the policies, where a cluster of the tests cannot carry it out. */
  readonly ends?: string;
}

/** A person's word, to which the API server adds the name of the person. */
export interface Stamp<Who extends string> extends Try<Who> {
  /** The mutating policy. */
  readonly policy: string;
  readonly field: string;
  readonly person: string;
}

export interface Attacked<Who extends string> {
  readonly cluster: () => Cluster;
  /** The credentials of each account: filled in before the tests. */
  readonly kubeconfigs: Partial<Record<Who, string>>;
}

/** Runs what is typed. */
export interface Typing<Who extends string> {
  /** As a request of the same user, where the line is one. */
  run(tried: Try<Who>): Promise<KubectlResult>;
  /** With the real kubectl when the verb was not typed before: what a person sees. */
  type(tried: Try<Who>): Promise<KubectlResult>;
}

/** To be called where tests are declared. */
export function useTyping<Who extends string>({ cluster, kubeconfigs }: Attacked<Who>): Typing<Who> {
  const terminal = useTerminal(cluster);
  const how = (by: "run" | "type", { as, args, stdin }: Try<Who>): Promise<KubectlResult> => {
    const kubeconfig = kubeconfigs[as];
    if (kubeconfig === undefined) throw new Error(`no credentials of ${as}`);
    const input = stdin === undefined ? undefined : JSON.stringify(stdin());
    return terminal[by](kubeconfig, typeof args === "function" ? args() : args, input);
  };
  return { run: (tried) => how("run", tried), type: (tried) => how("type", tried) };
}

/** A policy is in force a moment after it was written: waits for one refusal of each. */
export async function inForce<Who extends string>(
  attacks: readonly Attack<Who>[],
  { run }: Typing<Who>,
): Promise<void> {
  for (const policy of policiesOf(attacks)) {
    const probe = attacks.find((attack) => attack.policy === policy);
    if (probe === undefined) continue;
    await eventually(
      () => run(probe),
      ({ stderr }) => stderr.includes(probe.words),
    );
  }
}

/** Each attack is refused, and by the policy that it names: without its binding nothing says these words. */
export function testRefusals<Who extends string>(
  attacks: readonly Attack<Who>[],
  { cluster }: Attacked<Who>,
  typing: Typing<Who>,
): void {
  describe("refused", () => {
    test.each(attacks.map((attack) => [attack.title, attack] as const))("%s", async (_, attack) => {
      const { code, stderr } = await typing.type(attack);
      expect(stderr).toContain(attack.words);
      expect(stderr).toContain(`ValidatingAdmissionPolicy '${attack.policy}'`);
      expect(code).not.toBe(0);
    });
  });

  describe("by the policy alone: without it, nothing says these words", () => {
    test.each(policiesOf(attacks))(
      "%s",
      async (policy) => {
        const own = attacks.filter((attack) => attack.policy === policy);
        const bringBack = await removeBinding(cluster(), policy);
        try {
          for (const attack of own.filter(({ isReal }) => isReal !== true)) {
            await eventually(
              () => typing.run(attack),
              ({ stderr }) => !stderr.includes(attack.words),
            );
          }
        } finally {
          await bringBack();
          await inForce(own, typing);
        }
      },
      180_000,
    );
  });
}

export function testPassages<Who extends string>(passages: readonly Passage<Who>[], typing: Typing<Who>): void {
  test.each(passages.map((passage) => [passage.title, passage] as const))("%s", async (_, passage) => {
    expectPassage(passage, await typing.type(passage));
  });
}

export function expectPassage({ ends }: Passage<string>, { code, stderr }: KubectlResult): void {
  if (ends === undefined) {
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return;
  }
  expect(stderr).toContain(ends);
  expect(stderr).not.toContain("denied request");
}

/** Returns what brings it back. */
export async function removeBinding(
  cluster: Cluster,
  policy: string,
  kind: "Validating" | "Mutating" = "Validating",
): Promise<() => Promise<void>> {
  const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}admissionpolicybindings`;
  const { status, body } = await cluster.request({ method: "GET", path: `${path}/${policy}` });
  if (status !== 200) throw new Error(`no binding of ${policy}: ${status}`);
  const { apiVersion, metadata, spec } = body as Readonly<Record<string, object>>;
  const { name, labels } = metadata as { readonly name: string; readonly labels?: object };
  await cluster.request({ method: "DELETE", path: `${path}/${policy}` });
  return async () => {
    const binding = { apiVersion, kind: `${kind}AdmissionPolicyBinding`, metadata: { name, labels }, spec };
    const made = await cluster.request({ method: "POST", path, body: binding });
    if (made.status !== 201) throw new Error(`the binding of ${policy} did not come back: ${made.status}`);
  };
}

function policiesOf(attacks: readonly Attack<string>[]): readonly string[] {
  return [...new Set(attacks.map(({ policy }) => policy))];
}
