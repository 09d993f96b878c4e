// Home, as far as it stands: who this device is, and what the machine does.

import {useEffect} from "../vendor/hooks.js";
import {useSignal} from "../vendor/signals.js";
import {el} from "../el.js";
import * as keys from "../keys.js";
import {filled, words} from "../words.js";

/** @import {Connection} from "../rpc.js" */
/** @import {DaemonStatus} from "../types/podium.js" */

/** @param {{connection: Connection}} props */
export function Home({connection}) {
  const status = useSignal(/** @type {DaemonStatus | null} */ (null)), sure = useSignal(false);
  const live = connection.state.value === "live", greeting = connection.greeting.value;
  useEffect(() => {
    if (live) connection.call("daemon.status").then((known) => { status.value = known; }, () => {});
  }, [live]);

  const unpair = async () => {
    if (!sure.value) {
      sure.value = true;
      return;
    }
    await keys.leave();
    connection.stop();
  };
  if (!greeting) return el.p(null, words.connecting);
  const known = status.value;
  return el.div(null,
    el.section(null, el.h2(null, words.thisDevice),
      el.p({id: "device"}, filled(words.deviceLine, {device: greeting.device, scope: greeting.scope})),
      el.button({type: "button", onClick: () => void unpair()}, sure.value ? words.leaveSure : words.leave)),
    el.section(null, el.h2(null, words.machine),
      el.p(null, filled(words.machineLine, {version: greeting.version})),
      known ? el.p(null, filled(words.runsActive, {n: known.runs_active})) : null));
}
