// The page: pairs where it is not paired, else shows the shell.

import {render} from "./vendor/preact.js";
import {Shell} from "./shell.js";
import {Connection} from "./rpc.js";
import * as keys from "./keys.js";
import {chooseLanguage} from "./words.js";

const release = document.documentElement.dataset.release ?? "";

/** The token in the address, taken out of it and out of the history before anything else. */
function invitedBy() {
  const token = location.pathname === "/pair" ? location.hash.slice(1) : "";
  if (token) history.replaceState(null, "", "/pair");
  return token;
}

const token = invitedBy();
const connection = new Connection(keys.secret, release);
await chooseLanguage();
document.body.replaceChildren();
render(Shell({connection, release, token}), document.body);
if (!token) connection.start();
