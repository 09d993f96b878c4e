// What a hostile page tries. It reports what each try came to; the test says what that may be.
const GATEWAY = "127.0.0.1:__PORT__";
const KEY = "__KEY__";
const HERE = location.host;
const found = {};

function note(name, what) {
  found[name] = String(what);
}

async function read(name, url, options) {
  try {
    const answer = await fetch(url, options);
    const text = answer.type === "opaque" ? "" : await answer.text();
    note(name, `${answer.type} ${answer.status} ${text}`);
  } catch (error) {
    note(name, "failed");
  }
}

function socket(name, url) {
  return new Promise((done) => {
    const opened = new WebSocket(url);
    opened.onmessage = (event) => { note(name, `heard ${event.data}`); done(); };
    opened.onerror = () => { note(name, "failed"); done(); };
    opened.onclose = () => { found[name] ??= "closed"; done(); };
  });
}

function element(name, tag, url) {
  return new Promise((done) => {
    const made = document.createElement(tag);
    made.onload = () => { note(name, "loaded"); done(); };
    made.onerror = () => { note(name, "failed"); done(); };
    made.src = url;
    document.body.append(made);
  });
}

function form(url) {
  const target = document.createElement("iframe");
  target.name = "target";
  const made = document.createElement("form");
  made.method = "post";
  made.action = url;
  made.target = "target";
  made.enctype = "text/plain";
  const field = document.createElement("input");
  field.name = '{"text": "Count this", "agent": "scripted", "working_directory": "/", "a';
  field.value = '": 1}';
  made.append(field);
  document.body.append(target, made);
  return new Promise((done) => { target.onload = () => done(); made.submit(); });
}

async function main() {
  const prompt = JSON.stringify({ text: "Count this", agent: "scripted", working_directory: "/" });
  const bearer = { Authorization: `Bearer ${KEY}` };
  const json = { "Content-Type": "application/json" };
  const places = [["address", GATEWAY], ["name", "localhost:__PORT__"]];
  if (HERE) places.push(["here", HERE]);
  for (const [where, host] of places) {
    await read(`${where} health`, `http://${host}/healthz`, {});
    await read(`${where} metrics`, `http://${host}/metrics`, {});
    await read(`${where} metrics with the key`, `http://${host}/metrics`, { headers: bearer });
    await read(`${where} metrics blind`, `http://${host}/metrics`, { mode: "no-cors" });
    await read(`${where} prompt with the key`, `http://${host}/v1/prompt`,
      { method: "POST", body: prompt, headers: { ...bearer, ...json } });
    await read(`${where} prompt blind`, `http://${host}/v1/prompt`,
      { method: "POST", body: prompt, mode: "no-cors" });
    await socket(`${where} socket`, `ws://${host}/`);
    await socket(`${where} socket below`, `ws://${host}/ws`);
    await element(`${where} script`, "script", `http://${host}/healthz`);
    await element(`${where} image`, "img", `http://${host}/metrics`);
    navigator.sendBeacon(`http://${host}/v1/prompt`, prompt);
  }
  await form(`http://${GATEWAY}/v1/prompt`);
  await fetch("__REPORT__", { method: "POST", mode: "no-cors", body: JSON.stringify({ origin: self.origin, found }) });
}

main();
