// Pairing: by the link's token at once, or by a code that is typed.

import {useEffect} from "../vendor/hooks.js";
import {useSignal} from "../vendor/signals.js";
import {el} from "../el.js";
import * as keys from "../keys.js";
import {filled, words} from "../words.js";

/** @param {{token: string, onPaired: () => void}} props */
export function Pair({token, onPaired}) {
  const code = useSignal(""), name = useSignal(""), fault = useSignal(""), busy = useSignal(token !== "");

  /** @param {string} by */
  const pair = async (by) => {
    busy.value = true;
    fault.value = "";
    try {
      await keys.pair(by, name.value.trim());
      onPaired();
    } catch (error) {
      fault.value = filled(words.failed, {reason: error instanceof Error ? error.message : words.unreachable});
    }
    busy.value = false;
  };
  useEffect(() => {
    if (token) void pair(token);
  }, []);

  if (busy.value) return el.p({role: "status"}, words.pairing);
  return el.form({onSubmit: (event) => { event.preventDefault(); void pair(code.value); }},
    el.h2(null, words.pairTitle),
    el.p(null, words.pairIntro),
    el.label(null, words.pairCode,
      el.input({name: "code", value: code.value, autocomplete: "one-time-code", autocapitalize: "characters",
        spellcheck: false, required: true, onInput: (event) => { code.value = event.currentTarget.value; }})),
    el.label(null, words.pairName,
      el.input({name: "name", value: name.value, maxLength: 64, onInput: (event) => { name.value = event.currentTarget.value; }})),
    el.button({type: "submit"}, words.pairButton),
    el.p({class: "fault", role: "alert"}, fault.value));
}
