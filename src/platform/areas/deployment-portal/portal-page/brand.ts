import { AVATAR_URL } from "../../../../contract/projects/portal-appearance.ts";
import { html, type Markup } from "../../../kernel/web-page.ts";

/** The vendor's line on top of the page. */
export interface Brand {
  readonly head: Markup;
  /** The host that the vendor's image is asked of, for the page's policy; undefined: the page asks no other host. */
  readonly imageOrigin: string | undefined;
}

const AVATAR = new RegExp(AVATAR_URL, "u");

/** Pure. The name stands beside the image, so a reader need not hear it twice. Under it lie initials for when it does not come. */
export function brandOf(name: string, avatarUrl: string | undefined): Brand {
  const image =
    avatarUrl !== undefined && AVATAR.test(avatarUrl) && URL.canParse(avatarUrl) ? new URL(avatarUrl) : undefined;
  const shown =
    image &&
    html`<img src="${image.href}" alt="" width="40" height="40" decoding="async" referrerpolicy="no-referrer">`;
  return {
    head: html`<header class="brand"><span class="avatar"><span aria-hidden="true">${initialsOf(name)}</span>${shown}</span>
<p class="vendor">${name}</p>
<p class="mark">Sallyport</p></header>`,
    imageOrigin: image?.protocol === "https:" ? image.origin : undefined,
  };
}

/** The first letters of the first two words. */
function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? [];
  const letters = words.slice(0, 2).map((word) => [...word.toUpperCase()][0]);
  return letters.join("");
}
