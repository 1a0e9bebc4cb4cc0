import { TYPED_LINK } from "./link-cookie.ts";

// The scripts of the portal's pages. Each is allowed by its hash alone, so it is a constant: the pages work without them.

/**
 * Takes the token out of the address, where the browser's history would keep it, into the form, and names the link: the form
 * sends what is named, or nothing. It sends nothing by itself, and gives its button no focus, which a key that is held would press:
 * another site can lead a browser here with a link of its own, and a scanner of mails runs scripts too.
 */
export const ENTRY_SCRIPT = `
const [form] = document.forms;
const show = (id, isShown) => { document.getElementById(id).hidden = !isShown; };
const take = () => {
  if (!location.hash) return;
  const [, token, keyId] = ${TYPED_LINK}.exec(location.href) ?? [];
  history.replaceState(null, "", location.pathname);
  form.elements.token.value = token ?? "";
  document.getElementById("key").textContent = keyId ?? "";
  show("typed", !keyId);
  show("held", keyId);
  show("damaged", !keyId);
};
addEventListener("hashchange", take);
take();
`;

/** How often an open page looks whether something has changed. */
const LOOK_MS = 10_000;

/**
 * Takes away an image that does not come, which covers the initials. Lets a line be copied with a button, and takes what has changed from a fresh copy of this page, part by part, so that
 * focus and selection stay where nothing changed. It ends when the page says that all is settled.
 */
export const SETUP_SCRIPT = `
for (const image of document.images) {
  const drop = () => image.remove();
  if (image.complete && image.naturalWidth === 0) drop();
  image.addEventListener("error", drop);
}
document.documentElement.classList.toggle("scripted", Boolean(navigator.clipboard));
const told = document.getElementById("told");
document.addEventListener("click", async ({ target }) => {
  const lines = target.dataset && target.dataset.copies && document.getElementById(target.dataset.copies);
  if (!lines) return;
  await navigator.clipboard.writeText(lines.textContent).then(
    () => { told.textContent = "Copied."; },
    () => { told.textContent = "The browser did not let this page copy: select the lines."; },
  );
});
const parts = () => [...document.querySelectorAll("[data-part]")];
const look = async () => {
  if (document.hidden) return;
  const answer = await fetch(location.href).catch(() => undefined);
  if (!answer || answer.status === 429 || answer.status >= 500) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts()) {
    const now = fresh.getElementById(part.id);
    if (!now) return location.reload();
    if (part.innerHTML !== now.innerHTML) part.replaceChildren(...now.childNodes);
  }
  if (document.querySelector("[data-settled]")) clearInterval(looking);
};
const looking = document.querySelector("[data-settled]") ? undefined : setInterval(look, ${LOOK_MS});
`;
