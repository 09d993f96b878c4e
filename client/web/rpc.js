// The connection: JSON-RPC over one WebSocket, its first message client.hello, and back in one try.

import {signal} from "./vendor/signals-core.js";

/** @import {Methods, Notifications, Greeting} from "./types/podium.js" */
/** @typedef {"connecting" | "live" | "reconnecting" | "offline" | "notPaired"} State */

const PROTOCOL = "podium.rpc.1";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;
const POLICY_VIOLATION = 1008;

/** An answer that says no, in the daemon's words. */
export class Refusal extends Error {
  /** @param {{code: number, message: string, data?: Record<string, unknown>}} error */
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.data = error.data ?? {};
  }
}

export class Connection {
  /** @param {() => string | null} secret @param {string} release */
  constructor(secret, release) {
    this._secret = secret;
    this._release = release;
    /** @type {WebSocket | null} */
    this._socket = null;
    this._last = 0;
    this._wait = FIRST_WAIT;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this._timer = undefined;
    /** @type {Map<number, {done: (result: any) => void, failed: (error: Error) => void}>} */
    this._open = new Map();
    /** @type {Map<string, Set<(params: any) => void>>} */
    this._listeners = new Map();
    this.state = signal(/** @type {State} */ ("connecting"));
    this.greeting = signal(/** @type {Greeting | null} */ (null));
  }

  /** Connect, and again whenever the browser says that there is a network, or that it is looked at. */
  start() {
    addEventListener("online", () => this.connectNow());
    addEventListener("offline", () => this._lost());
    addEventListener("pageshow", () => this.connectNow());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.connectNow();
    });
    this.connectNow();
  }

  /** Try at once, however long it would have waited. */
  connectNow() {
    if (this._socket !== null) return;
    clearTimeout(this._timer);
    if (this._secret() === null) {
      this.state.value = "notPaired";
      return;
    }
    const socket = new WebSocket(new URL("/rpc", location.href.replace(/^http/, "ws")), PROTOCOL);
    this._socket = socket;
    socket.onopen = () => void this._hello(socket);
    socket.onmessage = (message) => this._take(JSON.parse(message.data));
    socket.onclose = (closed) => this._closed(socket, closed.code);
  }

  /** Close for good. */
  stop() {
    clearTimeout(this._timer);
    const socket = this._socket;
    this._socket = null;
    socket?.close();
    this.state.value = "notPaired";
  }

  /**
   * @template {keyof Methods} M
   * @param {M} method
   * @param {Partial<Methods[M]["params"]>} [params]
   * @returns {Promise<Methods[M]["result"]>}
   */
  call(method, params = {}) {
    const socket = this._socket;
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error(this.state.value));
    const id = ++this._last;
    return new Promise((done, failed) => {
      this._open.set(id, {done, failed});
      socket.send(JSON.stringify({jsonrpc: "2.0", id, method, params}));
    });
  }

  /**
   * Have what the daemon notifies handled; returns how to end that.
   * @template {keyof Notifications} N
   * @param {N} method
   * @param {(params: Notifications[N]) => void} listener
   */
  on(method, listener) {
    const listeners = this._listeners.get(method) ?? new Set();
    this._listeners.set(method, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** @param {WebSocket} socket */
  async _hello(socket) {
    try {
      const languages = [...navigator.languages];
      const greeting = await this.call("client.hello", {secret: this._secret() ?? "", release: this._release, languages});
      if (socket !== this._socket) return;
      this.greeting.value = greeting;
      this._wait = FIRST_WAIT;
      this.state.value = "live";
    } catch (error) {
      if (error instanceof Refusal && error.data.what === "pair") this.stop();
    }
  }

  /** @param {any} message */
  _take(message) {
    if ("method" in message) {
      for (const listener of this._listeners.get(message.method) ?? []) listener(message.params);
      return;
    }
    const open = this._open.get(message.id);
    this._open.delete(message.id);
    if (message.error) open?.failed(new Refusal(message.error));
    else open?.done(message.result);
  }

  /** @param {WebSocket} socket @param {number} code */
  _closed(socket, code) {
    if (socket !== this._socket) return;
    this._lost();
    if (code === POLICY_VIOLATION) this._wait = FIRST_WAIT; // to be told why
    this._timer = setTimeout(() => this.connectNow(), this._wait * (0.75 + Math.random() / 2));
    this._wait = Math.min(LONGEST_WAIT, this._wait * 2);
  }

  _lost() {
    const socket = this._socket;
    this._socket = null;
    socket?.close();
    this.state.value = navigator.onLine ? "reconnecting" : "offline";
    for (const {failed} of this._open.values()) failed(new Error(this.state.value));
    this._open.clear();
  }
}
