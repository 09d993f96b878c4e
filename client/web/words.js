// The page's own words, a file a language. The daemon's sentences stay English.

import en from "./words/en.js";

/** @typedef {typeof en} Words */

/** @type {Record<string, () => Promise<{default: Words}>>} */
const OTHERS = {de: () => import("./words/de.js")};

/** @type {Words} */
export let words = en;
export let language = "en";

/** Take the first of the browser's languages that there is. */
export async function chooseLanguage() {
  for (const wanted of navigator.languages) {
    const code = wanted.slice(0, 2).toLowerCase();
    if (code === "en") break;
    const load = OTHERS[code];
    if (load) {
      words = (await load()).default;
      language = code;
      break;
    }
  }
  document.documentElement.lang = language;
}

/**
 * Fill in a sentence: "{device} may {scope}".
 * @param {string} sentence
 * @param {Record<string, string | number>} values
 */
export function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}
