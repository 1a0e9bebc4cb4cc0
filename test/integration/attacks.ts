import { describe, expect, test } from "vitest";
import type { Cluster } from "../../lab/cluster/cluster.ts";
import type { KubectlResult } from "../../lab/cluster/kubectl.ts";
import type { Manifest } from "../../src/crds/manifest.ts";
import { eventually } from "./wait.ts";

/** What one account types. */
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
}

export interface Attacked<Who extends string> {
  readonly cluster: () => Cluster;
  /** The credentials of each account: filled in before the tests. */
  readonly kubeconfigs: Partial<Record<Who, string>>;
  /** What is applied to bring a binding back. */
  readonly policies: () => readonly Manifest[];
}

export type Run<Who extends string> = (tried: Try<Who>) => Promise<KubectlResult>;

export function runAs<Who extends string>({ cluster, kubeconfigs }: Attacked<Who>): Run<Who> {
  return ({ as, args, stdin }) => {
    const kubeconfig = kubeconfigs[as];
    if (kubeconfig === undefined) throw new Error(`no credentials of ${as}`);
    const input = stdin === undefined ? {} : { stdin: JSON.stringify(stdin()) };
    return cluster().kubectl([...(typeof args === "function" ? args() : args)], { kubeconfig, ...input });
  };
}

/** A policy is in force a moment after it was written: waits for one refusal of each. */
export async function inForce<Who extends string>(attacks: readonly Attack<Who>[], run: Run<Who>): Promise<void> {
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
export function testRefusals<Who extends string>(attacks: readonly Attack<Who>[], attacked: Attacked<Who>): void {
  const run = runAs(attacked);

  describe("refused", () => {
    test.each(attacks.map((attack) => [attack.title, attack] as const))("%s", async (_, attack) => {
      const { code, stderr } = await run(attack);
      expect(stderr).toContain(attack.words);
      expect(code).not.toBe(0);
    });
  });

  describe("by the policy alone: without it, nothing says these words", () => {
    test.each(policiesOf(attacks))(
      "%s",
      async (policy) => {
        const own = attacks.filter((attack) => attack.policy === policy);
        await attacked.cluster().kubectl(["delete", "validatingadmissionpolicybinding", policy]);
        try {
          for (const attack of own.filter(({ isReal }) => isReal !== true)) {
            await eventually(
              () => run(attack),
              ({ stderr }) => !stderr.includes(attack.words),
            );
          }
        } finally {
          await attacked.cluster().apply(attacked.policies().filter(({ metadata }) => metadata.name === policy));
          await inForce(own, run);
        }
      },
      180_000,
    );
  });
}

function policiesOf(attacks: readonly Attack<string>[]): readonly string[] {
  return [...new Set(attacks.map(({ policy }) => policy))];
}
