import Type from "typebox";
import { httpUrl } from "../managers/managers.ts";
import { HumanLine, Maybe, Words } from "../wire/schema.ts";

export const PORTAL_PRESETS = ["clean", "technical", "enterprise", "playful", "minimal"] as const;
export const PORTAL_COLOURS = ["blue", "purple", "green", "orange", "pink", "slate"] as const;
export const PORTAL_DENSITIES = ["comfortable", "compact"] as const;

const NAME = "[A-Za-z0-9](-*[A-Za-z0-9])*";
/**
 * An image that a customer's browser may be made to ask for: by TLS, of a host that has a name in DNS and is no bare address in the
 * customer's own network, without a password. Or one that lies in the address itself.
 */
export const AVATAR_URL = `^(https://(${NAME}[.])+[A-Za-z](-*[A-Za-z0-9])*(:[0-9]{1,5})?([/?][^#\\s]*)?|data:image/(png|jpeg|gif|webp|svg[+]xml);base64,[A-Za-z0-9+/]+={0,2})$`;

const uri = Type.String({ format: "uri", maxLength: 2048 });
const looks = {
  preset: Type.Optional(Words(PORTAL_PRESETS)),
  accentColor: Type.Optional(Words(PORTAL_COLOURS)),
  density: Type.Optional(Words(PORTAL_DENSITIES)),
  title: Maybe(HumanLine(0, 80)),
  subtitle: Maybe(HumanLine(0, 160)),
};

/** As it is stored. An address may be older than the rules for it; the page then leaves it out. */
export const storedAppearance = { ...looks, avatarUrl: Maybe(uri), supportUrl: Maybe(uri), docsUrl: Maybe(uri) };

/** How the deployment portal looks; the defaults are the first value of each list. */
export const portalAppearance = {
  ...looks,
  avatarUrl: Maybe(
    Type.String({
      format: "uri",
      maxLength: 2048,
      pattern: AVATAR_URL,
      description:
        "An image at an https address whose host has a name, or `data:image/…;base64,…`. Without one the page shows initials.",
    }),
  ),
  supportUrl: Maybe(Type.String({ format: "uri", maxLength: 2048, pattern: "^(https?://|mailto:)" })),
  docsUrl: Maybe(httpUrl),
};
