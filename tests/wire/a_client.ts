// What a client in TypeScript relies on: 'make types' compiles it against 'podium schema --typescript'.
// Each '@ts-expect-error' stands above something that must not compile.
import type { Methods, Notifications, Run } from "../../.cache/podium.ts";

declare function call<Name extends keyof Methods>(
  name: Name,
  params: Methods[Name]["params"],
): Promise<Methods[Name]["result"]>;

export async function titles(): Promise<string[]> {
  const listed: Run[] = await call("runs.list", { active: true });
  // @ts-expect-error: there is no such parameter
  await call("runs.list", { activ: true });
  // @ts-expect-error: a parameter is missing
  await call("runs.rename", { run_id: "1a2b" });
  // @ts-expect-error: there is no such method
  await call("runs.lists", {});
  // @ts-expect-error: 'run.status' is one of six words
  const waiting = listed.filter((run) => run.status === "wating");
  return [...waiting, ...listed].map((run) => run.name);
}

export function started(event: Notifications["event"]): string | null {
  // @ts-expect-error: an event has a type, and no kind
  void event.kind;
  return event.type === "run.started" ? event.run_id : null;
}
