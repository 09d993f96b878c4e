// The peer of the RPC benchmark: vscode-jsonrpc on a Unix socket, answering the same request.
const net = require("node:net");
const rpc = require("vscode-jsonrpc/node");

const run = { run_id: "0192f0c1-7d1e-7cc0-8a52-2f4b6f1f9a01", status: "running", step: "review" };

net
  .createServer((socket) => {
    const connection = rpc.createMessageConnection(
      new rpc.StreamMessageReader(socket),
      new rpc.StreamMessageWriter(socket),
    );
    connection.onRequest("runs.list", () => [run]);
    connection.onClose(() => connection.dispose());
    connection.listen();
  })
  .listen(process.argv[2], () => console.log("ready"));
