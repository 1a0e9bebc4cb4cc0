import { describe, expect, it } from "vitest";
import type { Package } from "../../../contract/packages/packages.ts";
import { portalPackages } from "./packages.ts";

const AT = "2026-01-01T00:00:00.000Z";
const PAGE = "https://portal.example.com/deploy";
const DIGEST = `sha256:${"a".repeat(64)}`;
const ARCHIVE = "https://platform.example.com/images/pkg_1/sig/operator-image-1.0.0.tar";
const PLUGINS = { search: { version: "1.0.0", operations: { reindex: { enabled: true } } } };
const NAMES = { name: "shop", displayName: "Shop", brand: null, envPrefix: null, labelDomain: null };

function packageOf(config: Package["config"], outputs: Package["outputs"]): Package {
  return {
    id: "pkg_1",
    projectId: "prj_1",
    workspaceId: "ws_1",
    type: config.type,
    status: "ready",
    version: "1.0.0",
    sourceReleaseId: null,
    setupFingerprints: {},
    packageBuildInputHash: "",
    config,
    outputs,
    error: null,
    sourceBinarySha256: null,
    retries: 0,
    lockedAt: null,
    lockedBy: null,
    leaseExpiresAt: null,
    buildPhase: null,
    lastProgressAt: null,
    createdAt: AT,
    updatedAt: AT,
    completedAt: AT,
  };
}

const helm = packageOf(
  { type: "helm", chartName: "shop", description: "" },
  { type: "helm", chart: "oci://charts.example.com/shop", version: "1.0.0" },
);
const image = (name: string, more: object = {}): Package =>
  packageOf(
    { type: "operator-image", ...NAMES },
    { type: "operator-image", image: name, digest: DIGEST, archive: ARCHIVE, plugins: PLUGINS, ...more },
  );
const shown = (...packages: readonly Package[]) =>
  portalPackages(packages, true, { page: PAGE, managerUrls: {}, deploymentId: undefined });

describe("while a package is not ready, each field is there all the same", () => {
  it.each(["pending", "building", "failed"] as const)("when it is %s", (status) => {
    const waiting = (config: Package["config"]) => ({ ...packageOf(config, null), status });
    const packages = shown(
      waiting({ type: "helm", chartName: "shop", description: "" }),
      waiting({ type: "cli", name: "shop", displayName: "Shop", binaryTargets: [] }),
      waiting({ type: "terraform", displayName: null }),
      waiting({ type: "cloudformation", displayName: null }),
    );
    const build = { status, version: "1.0.0" };
    expect(packages).toEqual({
      ready: true,
      helm: { ...build, chartRef: "", managerFetchExample: "", localImportExample: "" },
      cli: { ...build, commandName: "shop" },
      terraform: { ...build, providerSource: "", moduleVersion: "1.0.0", moduleSources: {}, managerUrls: {} },
      cloudformation: { ...build, mode: "auto", launchUrl: PAGE },
    });
  });
});

describe("the operator's image on a deployment link", () => {
  it("is pulled by the customer's lines, and no line switches a plugin on", () => {
    const { helm: lines, operatorImage } = shown(helm, image("registry.example.com:5000/operators/prj_1"));
    const flags = `--set sallyport.image.registry=registry.example.com:5000 --set sallyport.image.repository=operators/prj_1 --set sallyport.image.digest=${DIGEST}`;
    expect(lines?.managerFetchExample).toBe(
      `helm upgrade --install shop oci://charts.example.com/shop --version 1.0.0 ${flags}`,
    );
    expect(lines?.localImportExample).toContain(flags);
    expect(JSON.stringify(lines)).not.toContain("plugins");
    expect(operatorImage).toEqual({
      ...{ status: "ready", version: "1.0.0", digest: DIGEST, archive: ARCHIVE },
      values: {
        image: { registry: "registry.example.com:5000", repository: "operators/prj_1", digest: DIGEST },
        plugins: PLUGINS,
        operator: { resources: { limits: { memory: "416Mi" } } },
      },
    });
  });

  it("has values for its plugins, and none for a place to pull from, when it was not pushed", () => {
    const { helm: lines, operatorImage } = shown(helm, image(ARCHIVE));
    expect(lines?.managerFetchExample).toBe(
      "helm upgrade --install shop oci://charts.example.com/shop --version 1.0.0",
    );
    expect(operatorImage?.values).toEqual({
      plugins: PLUGINS,
      operator: { resources: { limits: { memory: "416Mi" } } },
    });
    // An image without plugins needs no more memory.
    expect(shown(image(ARCHIVE, { plugins: {} })).operatorImage?.values).toEqual({ plugins: {} });
  });

  it.each(["registry.example.com/$(reboot)", "registry.example.com/a b", "registry.example.com/x:1@y", "x"])(
    "of a builder outside that names %j stands in no line",
    (name) => {
      const { helm: lines } = shown(helm, image(name));
      expect(lines?.managerFetchExample).toBe(
        "helm upgrade --install shop oci://charts.example.com/shop --version 1.0.0",
      );
    },
  );

  it("that is not built has its status alone", () => {
    const waiting: Package = { ...image(ARCHIVE), status: "pending", outputs: null };
    expect(shown(waiting).operatorImage).toEqual({ status: "pending", version: "1.0.0" });
  });
});
