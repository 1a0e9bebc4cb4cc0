import { expect, it } from "vitest";
import { profilesFile } from "./profiles.ts";

it.each([
  ["/etc/ann", "/etc/ann/sallyport/profiles.json"],
  // Its specification says to ignore it: keys would lie in the folder in which a command was typed.
  ["here", "/home/ann/.config/sallyport/profiles.json"],
  ["", "/home/ann/.config/sallyport/profiles.json"],
  [undefined, "/home/ann/.config/sallyport/profiles.json"],
])("of XDG_CONFIG_HOME %s the profiles are in %s", (XDG_CONFIG_HOME, file) => {
  expect(profilesFile({ HOME: "/home/ann", XDG_CONFIG_HOME })).toBe(file);
});
