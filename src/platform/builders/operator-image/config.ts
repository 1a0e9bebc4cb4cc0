import type { SettingRow, SettingTable } from "../../../base/settings.ts";

/** What the platform needs to make operators' images itself. */
export interface ImageBuilding {
  /** The shipped image: a folder or an archive with an OCI layout. */
  readonly base: string;
  /** The program `plugin-layer`. */
  readonly tool: string;
  /** Undefined: images are not pushed, and customers load them from the archive. */
  readonly registry: ImageRegistry | undefined;
}

export interface ImageRegistry {
  /** Each project's images lie in a repository below it. */
  readonly repository: string;
  /** A docker configuration file with its credentials. Undefined: none are needed. */
  readonly authFile: string | undefined;
}

/** Included in `PLATFORM_SETTINGS`, the only table of the platform's settings. */
export const IMAGE_SETTINGS = {
  operatorImage: {
    env: "SALLYPORT_PLATFORM_OPERATOR_IMAGE",
    default: "",
    doc: "Folder or tar archive with the shipped operator image as an OCI layout, all its architectures in one index: the platform adds the custom plugins of a project to it. Empty: builders outside make operators' images.",
  },
  imageTool: {
    env: "SALLYPORT_PLATFORM_IMAGE_TOOL",
    default: "/app/plugin-layer",
    doc: "Path of the program plugin-layer, which makes and pushes those images. The platform's image has it at the default.",
  },
  imageRepository: {
    env: "SALLYPORT_PLATFORM_IMAGE_REPOSITORY",
    default: "",
    doc: "Where operators' images are pushed, such as `registry.example.com/operators`: each project's lie below it, under the project's id. Empty: they are not pushed, and lie in the object store alone.",
  },
  imageRegistryAuthFile: {
    env: "SALLYPORT_PLATFORM_IMAGE_REGISTRY_AUTH_FILE",
    default: "",
    doc: "Docker configuration file (`auths`; no credential helpers) for pushing them, read at each push. Empty: the registry asks for no credentials.",
  },
} as const satisfies SettingTable;

/** Host, and a port where there is one, with at least one more segment. */
const REPOSITORY = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$/;
const MAX_REPOSITORY_LENGTH = 200;

/**
 * @param text the setting's value, or its default.
 * @param fail records what a setting must be.
 */
export function readImageBuilding(
  text: (setting: SettingRow) => string,
  fail: (setting: SettingRow, expected: string) => void,
): ImageBuilding | undefined {
  const { operatorImage, imageTool, imageRepository, imageRegistryAuthFile } = IMAGE_SETTINGS;
  const [base, repository, authFile] = [operatorImage, imageRepository, imageRegistryAuthFile].map(text);
  if (repository && (repository.length > MAX_REPOSITORY_LENGTH || !REPOSITORY.test(repository))) {
    fail(imageRepository, "a host and a path in lower case, such as registry.example.com/operators");
  }
  if (authFile && !repository) fail(imageRepository, `set with ${imageRegistryAuthFile.env}`);
  if (!base) return undefined;
  return {
    base,
    tool: text(imageTool),
    registry: repository ? { repository, authFile: authFile || undefined } : undefined,
  };
}
