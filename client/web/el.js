// Tags as functions: el.button({onClick}, "Allow"). tsc knows the properties of each tag.

import {h} from "./vendor/preact.js";

/** @import {ComponentChildren, JSX, VNode} from "./vendor/preact.js" */
/** @typedef {JSX.IntrinsicElements} Tags */

/** @type {{[K in keyof Tags]: (props?: Tags[K] | null, ...children: ComponentChildren[]) => VNode}} */
export const el = /** @type {any} */ (new Proxy({}, {
  get: (/** @type {unknown} */ _, /** @type {string} */ tag) =>
    (/** @type {any} */ props, /** @type {any[]} */ ...children) => h(tag, props ?? null, ...children),
}));
