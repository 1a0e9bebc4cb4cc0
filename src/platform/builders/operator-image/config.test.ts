import { describe, expect, it } from "vitest";
import { readPlatformConfig } from "../../platform-config.ts";

const BOTH = { SALLYPORT_PLATFORM_OPERATOR_IMAGE: "/image", SALLYPORT_PLATFORM_IMAGE_TOOL: "/plugin-layer" };
const REPOSITORY = "SALLYPORT_PLATFORM_IMAGE_REPOSITORY";
const AUTH = "SALLYPORT_PLATFORM_IMAGE_REGISTRY_AUTH_FILE";

describe("the settings of operators' images", () => {
  it("need the image; the tool is where the platform's image has it; a registry is for those who have one", () => {
    expect(readPlatformConfig({}).images).toBeUndefined();
    const { SALLYPORT_PLATFORM_IMAGE_TOOL: tool, SALLYPORT_PLATFORM_OPERATOR_IMAGE: base } = BOTH;
    expect(readPlatformConfig({ SALLYPORT_PLATFORM_IMAGE_TOOL: tool }).images).toBeUndefined();
    const images = readPlatformConfig({ SALLYPORT_PLATFORM_OPERATOR_IMAGE: base }).images;
    expect(images).toEqual({ base: "/image", tool: "/app/plugin-layer", registry: undefined });
    expect(readPlatformConfig(BOTH).images).toEqual({ base: "/image", tool: "/plugin-layer", registry: undefined });
    const repository = "registry.example.com:5000/team/operators";
    expect(readPlatformConfig({ ...BOTH, [REPOSITORY]: repository, [AUTH]: "/auth.json" }).images?.registry).toEqual({
      repository,
      authFile: "/auth.json",
    });
  });

  it.each(["registry.example.com", "Registry.example.com/a", "a/b:1", "https://a/b", "a/b@sha256:00", "a//b", "-a/b"])(
    "%j is no repository",
    (text) => {
      expect(() => readPlatformConfig({ ...BOTH, [REPOSITORY]: text })).toThrow(`${REPOSITORY} must be a host and`);
    },
  );

  it("credentials alone push nothing", () => {
    expect(() => readPlatformConfig({ ...BOTH, [AUTH]: "/auth.json" })).toThrow(`${REPOSITORY} must be set with`);
  });
});
