import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test, vi } from "vitest";
import { cacheRoot } from "./cache-root.ts";
import { CONTROL_PLANE_NAMES, ProgramsError, type Recipe } from "./go-build.ts";
import { chosenKubernetes, KUBERNETES_VERSIONS, NEWEST } from "./kubernetes-versions.ts";
import {
  ensureRecipe,
  type FindOptions,
  findPrograms,
  fitsServer,
  type KubernetesProgram,
  minorOf,
} from "./programs.ts";

const never = new AbortController().signal;
let root = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-test-"));
});
afterEach(() => rm(root, { recursive: true }));

/** A folder of programs that only print a version. */
async function folderOf(name: string, versions: Partial<Record<KubernetesProgram, string>>): Promise<string> {
  const folder = join(root, name);
  await mkdir(folder, { recursive: true });
  for (const [program, version] of Object.entries(versions)) {
    await writeFile(join(folder, program), `#!/bin/sh\necho "Kubernetes v${version}"\n`);
    await chmod(join(folder, program), 0o755);
  }
  return folder;
}

const ALL: Partial<Record<KubernetesProgram, string>> = {
  etcd: "3.6.8",
  "kube-apiserver": "1.36.3",
  "kube-controller-manager": "1.36.3",
  "kube-scheduler": "1.36.3",
  kubectl: "1.36.3",
};

/** Replaces a build of minutes: makes the files that the recipe would make. */
function builder() {
  const built: string[] = [];
  const build = async (recipe: Recipe, folder: string): Promise<void> => {
    built.push(recipe.folderName.replace(/-[^-]*$/, ""));
    for (const name of CONTROL_PLANE_NAMES) {
      await writeFile(join(folder, name), '#!/bin/sh\necho "Kubernetes v1.36.3"\n');
      await chmod(join(folder, name), 0o755);
    }
  };
  return { built, build };
}

interface Where {
  readonly assets?: string;
  readonly path?: string;
  readonly kubernetes?: string;
}

function find(options: Partial<FindOptions> & Where) {
  const { assets, path, kubernetes: chosen, ...rest } = options;
  const cache = join(root, "cache");
  const env = { XDG_CACHE_HOME: cache, KUBEBUILDER_ASSETS: assets, PATH: path, SALLYPORT_KUBERNETES: chosen };
  return findPrograms({ env, ...rest }, never);
}

/** Of each module its version after `replace`. */
async function versionsIn(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(join(import.meta.dirname, file), "utf8");
  const required = [...text.matchAll(/^\t(\S+) (v\S+)/gm)].map(
    ([, module = "", version = ""]) => [module, version] as const,
  );
  const replaced = [...text.matchAll(/(\S+) => \1 (v\S+)$/gm)].map(
    ([, module = "", version = ""]) => [module, version] as const,
  );
  return new Map([...required, ...replaced]);
}

test("kwok, helm and crane change no module of Kubernetes, and the e2e node's programs share all packages with ours", async () => {
  const ours = await versionsIn("programs/go.mod");
  const released = await versionsIn("../../test/e2e/node/kube/go.mod");
  const shared = [...released].filter(([module]) => ours.has(module));
  expect(shared.length).toBeGreaterThan(180);
  expect(shared.map(([module]) => [module, ours.get(module)])).toEqual(shared);
});

describe("where a program comes from", () => {
  it("is KUBEBUILDER_ASSETS before the PATH, and nothing is built when all is there", async () => {
    const { built, build } = builder();
    const assets = await folderOf("assets", ALL);
    const path = await folderOf("path", ALL);
    const programs = await find({ assets, path, build, controllers: true });
    expect(Object.values(programs)).toEqual(
      Object.values(programs).map((_file) => expect.stringContaining(`${assets}/`)),
    );
    expect(built).toEqual([]);
  });

  it("is the PATH for what KUBEBUILDER_ASSETS does not have", async () => {
    const { build } = builder();
    const assets = await folderOf("assets", { etcd: "3.6.8", "kube-apiserver": "1.36.1", kubectl: "1.36.1" });
    const path = await folderOf("path", ALL);
    expect(await find({ assets, path, build, controllers: true })).toMatchObject({
      "kube-apiserver": join(assets, "kube-apiserver"),
      "kube-scheduler": join(path, "kube-scheduler"),
    });
  });

  it("is the cache when neither has it, and a second search builds nothing", async () => {
    const { built, build } = builder();
    const first = await find({ build });
    expect(first.kubectl).toContain(`${join(root, "cache", "sallyport")}/`);
    expect(await find({ build })).toEqual(first);
    expect(built).toEqual(["programs"]);
  });

  it("is not the PATH for a kubectl that is four minors older than the server", async () => {
    const { build } = builder();
    const path = await folderOf("path", { kubectl: "1.32.4" });
    expect((await find({ path, build })).kubectl).not.toContain(path);
  });

  it("is KUBEBUILDER_ASSETS whatever its version: somebody chose it", async () => {
    const assets = await folderOf("assets", { ...ALL, "kube-apiserver": "1.33.0", kubectl: "1.30.0" });
    expect((await find({ assets })).kubectl).toBe(join(assets, "kubectl"));
  });

  it("is the cache for kwok alone, whatever lies on the PATH", async () => {
    const { built, build } = builder();
    const path = await folderOf("path", ALL);
    const { kwok } = await find({ path, build, kwok: true });
    expect(kwok?.path).toContain(join(root, "cache"));
    expect(built).toEqual(["kwok"]);
  });

  it("is the cache alone for a version that was chosen, beside the newest", async () => {
    const { built, build } = builder();
    const assets = await folderOf("assets", ALL);
    const path = await folderOf("path", ALL);
    const newest = await find({ build });
    const older = await find({ assets, path, build, kubernetes: "1.30" });
    expect(built).toEqual(["programs", "programs"]);
    for (const file of [older.etcd, older.kubectl, older["kube-apiserver"]]) {
      expect(file).toContain(`${join(root, "cache", "sallyport")}/`);
      expect(dirname(file)).not.toBe(dirname(newest.kubectl));
    }
    expect((await find({ build, kubernetes: NEWEST })).kubectl).toBe(newest.kubectl);
  });

  it("is nowhere for a version that is not in the table", async () => {
    await expect(find({ kubernetes: "1.29" })).rejects.toThrow(
      "SALLYPORT_KUBERNETES=1.29: the programs can be built for",
    );
    expect(chosenKubernetes({ SALLYPORT_KUBERNETES: "" })).toBeUndefined();
  });

  it.each([
    ["is no folder", "/dev/null", "cannot write /dev/null/.cache/sallyport; set XDG_CACHE_HOME"],
    ["is empty", "", "cannot write .cache/sallyport; set XDG_CACHE_HOME"],
  ])("says what to do when HOME %s", async (_what, home, words) => {
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const recipe = { title: "a program", expectation: "at once", folderName: "a", build: async () => undefined };
    const building = ensureRecipe(recipe, { env: {}, say: () => undefined }, new AbortController().signal);
    await expect(building).rejects.toThrow(words);
  });

  it("is under ~/.cache when XDG_CACHE_HOME is relative, as its specification says", () => {
    expect(cacheRoot({ XDG_CACHE_HOME: "here" })).toMatch(/^\/.*\.cache\/sallyport$/);
  });

  it.each([
    ["", 0o777],
    ["sallyport", 0o777],
    ["sallyport", 0o770],
  ])("is not one where another user can put programs: %s %o", async (path, mode) => {
    await mkdir(join(root, "cache/sallyport"), { recursive: true });
    await chmod(join(root, "cache", path), mode);
    await expect(find({})).rejects.toThrow(/can be written to by others, so programs in it may be another user's/);
  });

  it("may lie in a folder such as /tmp, where each renames their own files only", async () => {
    await mkdir(join(root, "cache"));
    await chmod(join(root, "cache"), 0o1777);
    expect(cacheRoot({ XDG_CACHE_HOME: join(root, "cache") })).toBe(join(root, "cache/sallyport"));
  });
});

it.each<[KubernetesProgram, number, boolean]>([
  ["kubectl", 34, false],
  ["kubectl", 35, true],
  ["kubectl", 37, true],
  ["kubectl", 38, false],
  ["kube-scheduler", 35, true],
  ["kube-scheduler", 36, true],
  ["kube-scheduler", 37, false],
  ["etcd", 4, false],
  ["etcd", 6, true],
])("%s of minor %i beside a server of minor 36: %s", (name, minor, fits) => {
  expect(fitsServer(name, minor, 36)).toBe(fits);
});

it.each([
  ["Kubernetes v1.36.3", 36],
  ["Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0", 32],
  ["etcd Version: 3.6.8\nGit SHA: Not provided", 6],
  ["no version", undefined],
])("reads the minor of %j", (text, minor) => {
  expect(minorOf(text)).toBe(minor);
});

it.each(Object.entries(KUBERNETES_VERSIONS))(
  "the modules for %s are all of one release, %s",
  async (minor, version) => {
    const file = join(import.meta.dirname, "programs", minor === NEWEST ? "go.mod" : `${minor}.mod`);
    const text = await readFile(file, "utf8");
    expect(text).toContain(`\tk8s.io/kubernetes ${version}\n`);
    const replaced = new Set(
      [...text.matchAll(/^(?:replace |\t)(k8s\.io\/(?!kube-openapi|utils)\S+) => \1 (v\S+)$/gm)].map(([, , of]) => of),
    );
    expect([...replaced]).toEqual([version.replace("v1.", "v0.")]);
  },
);

describe("a build", () => {
  it("happens once when two ask at the same time, and both get it", async () => {
    const { built, build } = builder();
    const [one, other] = await Promise.all([find({ build }), find({ build })]);
    expect(one).toEqual(other);
    expect(built).toEqual(["programs"]);
  });

  it.each(["fails", "is stopped"])("that %s leaves the cache as it was, and the next one works", async (how) => {
    const stop = new AbortController();
    const failing = findPrograms(
      {
        env: { XDG_CACHE_HOME: join(root, "cache") },
        build: async (_, folder) => {
          await writeFile(join(folder, "half"), "");
          if (how === "fails") throw new ProgramsError("the disk is full");
          stop.abort(new Error("Ctrl-C"));
        },
      },
      stop.signal,
    );
    await expect(failing).rejects.toThrow(how === "fails" ? "the disk is full" : "Ctrl-C");
    expect(await readdir(join(root, "cache", "sallyport"))).toEqual([]);
    const { built, build } = builder();
    await find({ build });
    expect(built).toEqual(["programs"]);
  });

  it.each([
    ["a process that is gone", `999999999 ${hostname()}`, 0],
    ["a machine that is gone", "1 another-host", 120],
  ])("takes over the lock of %s, and sweeps its half-made folder", async (_, owner, ageSeconds) => {
    const { built, build } = builder();
    const { kubectl } = await find({ build });
    const folder = join(kubectl, "..");
    await rm(folder, { recursive: true });
    const leftover = `${folder}.building-999999999`;
    await mkdir(leftover);
    await writeFile(`${folder}.lock`, owner);
    const touched = Date.now() / 1000 - ageSeconds;
    await utimes(`${folder}.lock`, touched, touched);
    await find({ build });
    expect(built).toEqual(["programs", "programs"]);
    expect([leftover, `${folder}.lock`].map((file) => existsSync(file))).toEqual([false, false]);
  });
});
