// The frame around every screen: the status word, and what has to be said of the page itself.

import {h} from "./vendor/preact.js";
import {useSignal} from "./vendor/signals.js";
import {el} from "./el.js";
import {words} from "./words.js";
import {Home} from "./screens/home.js";
import {Pair} from "./screens/pair.js";

/** @import {Connection} from "./rpc.js" */

/** @param {{connection: Connection, release: string, token: string}} props */
export const Shell = (props) => h(Frame, props);

/** @param {{connection: Connection, release: string, token: string}} props */
function Frame({connection, release, token}) {
  const paired = useSignal(!token);
  const state = connection.state.value, greeting = connection.greeting.value;
  const begin = () => {
    paired.value = true;
    history.replaceState(null, "", "/");
    connection.start();
  };
  const pairing = !paired.value || state === "notPaired";
  return el.div({class: "shell"},
    el.header(null,
      el.h1(null, "Podium"),
      el.p({class: `state ${state}`, role: "status"}, el.span({class: "dot", "aria-hidden": "true"}), words[state])),
    greeting && greeting.release !== release ? h(NewRelease, null) : null,
    isSecureContext ? null : h(Insecure, null),
    el.main(null, pairing ? h(Pair, {token, onPaired: begin}) : h(Home, {connection})));
}

function NewRelease() {
  return el.p({class: "note", role: "status"}, words.newRelease, " ",
    el.button({type: "button", onClick: () => location.reload()}, words.reload));
}

function Insecure() {
  return el.section({class: "note", "aria-labelledby": "insecure"},
    el.h2({id: "insecure"}, words.insecureTitle), el.p(null, words.insecureText));
}


