// The peer of the gateway benchmark: fs.watch and ws, and nothing that keeps what it has read.
//
//     node fs_watch_peer.cjs DIRECTORY     prints its port
//
// {"type":"subscribe","session_id":ID} follows DIRECTORY/**/ID.jsonl from its end on.
const fs = require("node:fs");
const path = require("node:path");
const { WebSocketServer } = require("ws");

const root = process.argv[2];
const sessions = new Map(); // id -> { file, offset, rest, sockets }
const files = new Map(); // path below the root -> id

for (const name of fs.readdirSync(root, { recursive: true })) {
  if (name.endsWith(".jsonl")) files.set(name, path.basename(name, ".jsonl"));
}

function history(id, records) {
  const messages = records.map((record) => ({
    uuid: record.uuid,
    role: record.message.role,
    text: record.message.content.map((block) => block.text).join("\n\n"),
    timestamp: record.timestamp,
    session_id: id,
  }));
  return JSON.stringify({ type: "session_history", session_id: id, messages });
}

function follow(id, socket) {
  if (!sessions.has(id)) {
    const name = [...files].find(([, known]) => known === id)[0];
    const file = fs.openSync(path.join(root, name), "r");
    const offset = fs.fstatSync(file).size;
    sessions.set(id, { file, offset, rest: "", sockets: new Set() });
  }
  sessions.get(id).sockets.add(socket);
  socket.send(history(id, []));
}

const buffer = Buffer.alloc(1 << 20);
fs.watch(root, { recursive: true }, (_, name) => {
  const id = files.get(name);
  const session = sessions.get(id);
  if (session === undefined) return;
  const count = fs.readSync(session.file, buffer, 0, buffer.length, session.offset);
  if (count === 0) return;
  session.offset += count;
  const lines = (session.rest + buffer.toString("utf8", 0, count)).split("\n");
  session.rest = lines.pop();
  const text = history(id, lines.map((line) => JSON.parse(line)));
  for (const socket of session.sockets) socket.send(text);
});

const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (socket) => {
  socket.on("message", (data) => follow(JSON.parse(data).session_id, socket));
});
server.on("listening", () => console.log(server.address().port));
