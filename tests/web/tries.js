// What a page at another address tries with the gateway.
(async () => {
      const found = {};
      const asked = async (name, path, options) => {
        try { found[name] = (await fetch("http://__HERE__" + path, options)).type; }
        catch { found[name] = "failed"; }
      };
      await asked("pair", "/v1/pair", {method: "POST", credentials: "include",
        headers: {"Content-Type": "application/json"}, body: "{}"});
      await asked("pair blind", "/v1/pair", {method: "POST", mode: "no-cors", body: "{}"});
      await asked("leave blind", "/v1/leave", {method: "POST", mode: "no-cors", credentials: "include"});
      await asked("prompt", "/v1/prompt", {method: "POST", credentials: "include", body: "{}"});
      found.socket = await new Promise((done) => {
        const socket = new WebSocket("ws://__HERE__/rpc", "podium.rpc.1");
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
      });
      found.frame = await new Promise((done) => {
        const frame = document.createElement("iframe");
        frame.src = "http://__HERE__/";
        frame.onload = () => { try { done(String(frame.contentDocument?.title)); } catch { done("shut"); } };
        document.body.append(frame);
      });
      return JSON.stringify(found);
})()
