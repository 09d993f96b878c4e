// What the page keeps of its pairing. The key is in a cookie that no script sees; the secret here
// belongs to this origin, its port included, and the one opens nothing without the other.

const SECRET = "podium.secret";

export const secret = () => localStorage.getItem(SECRET);

/** @param {string} value */
export const keep = (value) => localStorage.setItem(SECRET, value);

export const forget = () => localStorage.clear();

/**
 * Pair by the token of a link, or by a typed code.
 * @param {string} token
 * @param {string} [name]
 * @returns {Promise<void>}
 */
export async function pair(token, name) {
  const answer = await fetch("/v1/pair", {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify(name ? {token, name} : {token}),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail ?? said.title);
  keep(said.secret);
}

/** Have the machine take this page's pairing back, and keep nothing of it. */
export async function leave() {
  await fetch("/v1/leave", {method: "POST", headers: {"Podium-Secret": secret() ?? ""}});
  forget();
}
