// Podium 0.1.0: what is said over its JSON-RPC socket.
// Made by 'podium schema --typescript'; do not edit.

export type Json =
  | null | boolean | number | string | Json[] | { [name: string]: Json };

/** A reply with an outcome. */
export interface Accepted {
  ok: true;
  outcome: string;
  description: string | null;
  source: string;
  repaired: boolean;
}

/** An action is over: done, failed, refused by a person (``refused``), or never begun. */
export interface ActionEndedData {
  turn_id: string;
  reply: number;
  index: number;
  result: Result;
  changes: Array<FileChange>;
  refused: boolean;
}

/** An action of reply ``reply`` is about to be done. Stored before anything is touched. */
export interface ActionIntendedData {
  turn_id: string;
  reply: number;
  index: number;
  action: string;
  changes: Array<FileChange>;
}

/** A prompt that has not ended: a run as well, which can be followed and cancelled as one. ``paused`` is true beside the status ``waiting`` too. */
export interface ActivePrompt {
  run_id: string;
  name: string;
  session_id: string;
  status: "ended" | "parked" | "paused" | "queued" | "running" | "waiting";
  paused: boolean;
  started_at: string;
}

/** The recipe that runs in a session, and where it stands. */
export interface ActiveRecipe {
  run_id: string;
  recipe_id: string;
  current_step: string | null;
  step_count: number;
  max_total_steps: number | null;
}

/** A configured agent. ``kind`` is its ``driver``, ``label`` that in a few words. ``program`` is the path of its program, ``version`` what that tells of itself, ``mark`` what is to be known of that version. ``found`` says in words how it is, ``fix`` what to do where it is not ready. ``session_format`` is the format of its session files; ``None`` where Podium reads none. */
export interface Agent {
  name: string;
  kind: string;
  label: string;
  state: "missing" | "ready" | "unready";
  program: string | null;
  version: string | null;
  mark: string | null;
  found: string;
  fix: string;
  session_format: string | null;
  capabilities: Capabilities;
}

/** ``questions.answer``. */
export interface Answer {
  question_id: string;
  answer: string;
  note?: string | null;
}

/** A person's own prompt went through the session while this run waited. */
export interface AsideNotedData {
  run_id: string;
  session_id: string;
}

/** ``voice.audio``; ``frame`` numbers the pieces from 0, where they are numbered. */
export interface Audio {
  utterance_id: string;
  audio: string;
  frame?: number | null;
}

/** Capabilities of a configured agent; a recipe's demands are checked against them before a run starts. ``permission_modes`` are the agent's own words for how much it may do unasked. ``hooks``: it asks before each tool and reports after it; ``tool_lists``: a step may say by names which tools there are, or that there are none; ``deny_words``: its model is given the words of a refusal; ``system_text``: its system text may be another in each turn; ``compacts``: it sums up what no longer fits by itself, and need not be asked to; ``names_sessions``: it gives its sessions ids of its own; ``unasked`` are the tools that it uses without asking, in whichever mode it asks about others. */
export interface Capabilities {
  structured_output: boolean;
  approvals: boolean;
  interrupt: boolean;
  steer: boolean;
  resume: boolean;
  fork: boolean;
  read_only_tools: boolean;
  tool_lists: boolean;
  deny_words: boolean;
  survives_daemon: boolean;
  hooks: boolean;
  system_text: boolean;
  compacts: boolean;
  names_sessions: boolean;
  permission_modes: Array<string>;
  unasked: Array<string>;
  exactly_once: "agent" | "facts" | "mark" | "weak";
  own_tools: "dialect" | "inside" | "mcp" | "none";
  usage: "cost" | "none" | "tokens";
  images: "inline" | "none" | "path";
}

/** A command that must exit 0 after a valid outcome. */
export interface Check {
  run: Array<string>;
  timeout_seconds: number;
}

/** A command that the daemon ran itself; its word counts more than the agent's. */
export interface CheckEndedData {
  step: string;
  index: number;
  run: Array<string>;
  passed: boolean;
  exit_status: number | null;
  seconds: number;
  tail: string;
  log: string;
}

/** ``recipes.check``: one of ``path``, ``text`` and ``id``. */
export interface CheckRecipe {
  path?: string | null;
  text?: string | null;
  id?: string | null;
  working_directory?: string | null;
}

/** The findings of a recipe's check. ``ok``: none of them is an error. */
export interface CheckReport {
  ok: boolean;
  findings: Array<Finding>;
  worst_case: WorstCase | null;
}

/** An answer that a question names. */
export interface Choice {
  id: string;
  label: string;
}

/** A step ended with an outcome that says something of the working tree. It leads nowhere before that was looked at. */
export interface ClaimMadeData {
  step: string;
  visit: number;
  claims: string;
  outcome: string;
  source: string;
  description: string | null;
  detail: string;
}

/** The command of a step is over; ``exit_status`` is ``None`` if it did not end by itself. ``tree`` is the working tree that it left, in a step that the run can come back to. */
export interface CommandEndedData {
  step: string;
  visit: number;
  run: Array<string>;
  passed: boolean;
  exit_status: number | null;
  seconds: number;
  tail: string;
  log: string;
  tree: TreeMark | null;
}

/** The command of a step is about to be run. Stored before its process exists. */
export interface CommandIntendedData {
  step: string;
  visit: number;
  run: Array<string>;
  timeout_seconds: number;
}

/** The state of the settings, and all values in force. */
export interface Configuration {
  path: string | null;
  problem: string | null;
  pending: Array<PendingSetting>;
  restart: string;
  warnings: Array<string>;
  values: Array<Setting>;
}

/** The state of the settings. ``problem``: why the file is not in force; ``pending``: what of it waits for a restart, for which ``restart`` is the command; ``warnings``: what has no effect. */
export interface ConfigurationStatus {
  path: string | null;
  problem: string | null;
  pending: Array<PendingSetting>;
  restart: string;
  warnings: Array<string>;
}

/** ``daemon.configure``. */
export interface Configure {
  orchestration_enabled?: boolean | null;
}

/** The result of ``daemon.configure``. */
export interface Configured {
  orchestration: Orchestration;
}

/** State of the daemon; the last ten fields as in ``Activity``. ``service``: the manager that runs it, ``systemd`` or ``launchd``. */
export interface DaemonStatus {
  version: string;
  pid: number;
  started_at: string;
  socket: string;
  service: string | null;
  gateway: GatewayStatus;
  voice: SpeechStatus;
  configuration: ConfigurationStatus;
  limits: LimitsInForce;
  retention: RetentionInForce;
  sessions: number;
  runs_active: number;
  runs_paused: number;
  prompts_active: number;
  prompts_waiting: number;
  prompts: Array<ActivePrompt>;
  questions_open: number;
  talks_waiting: Array<Talk>;
  orchestration: Orchestration;
  taken_up: number;
}

/** A tool call that was not allowed. */
export interface Denial {
  tool: string;
  tool_use_id: string;
}

/** A paired device. */
export interface Device {
  device: string;
  name: string;
  paired_at: string;
  last_seen: string | null;
  connected: boolean;
  kind: "phone" | "web";
  scope: "all" | "answer" | "look" | "work";
}

/** The changes of a run. ``gone``: its worktree is not there any more; ``rewritten``: ``head`` does not go on from ``base``. */
export interface Diff {
  run_id: string;
  directory: string;
  ended: boolean;
  gone: boolean;
  base: string | null;
  head: string | null;
  rewritten: boolean;
  commits: Array<DiffCommit>;
  more_commits: number;
  committed: DiffPart;
  uncommitted: DiffPart;
}

/** A commit: its id, when it was made, the first line of its message. */
export interface DiffCommit {
  commit: string;
  at: string;
  subject: string;
}

/** A file that differs. ``before`` is its name where it was another one, ``mode`` its mode where that was. ``changed_before``: it was not as committed when the run began. */
export interface DiffFile {
  path: string;
  change: string;
  before: string | null;
  mode: string | null;
  added: number | null;
  deleted: number | null;
  changed_before: boolean;
}

/** Files that differ, and how. ``more`` counts those without room; ``cut``: the patch is not whole. */
export interface DiffPart {
  files: Array<DiffFile>;
  more: number;
  patch: string;
  cut: boolean;
}

/** ``runs.diff``; with ``patch`` also line by line. */
export interface DiffRun {
  run_id: string;
  patch?: boolean;
}

/** An empty result: it was done, ``{}``. */
export interface Done {
}

/** ``recipes.graph``. */
export interface DrawRecipe {
  id: string;
  format?: "dot" | "mermaid";
  working_directory?: string | null;
}

/** A recipe as a text that a program draws. */
export interface Drawing {
  text: string;
}

/** The target of an outcome: ``to`` a step (or ``@restart``), or ``exit`` with a reason. ``class_`` and ``message`` belong to an exit. ``requires`` names the context keys that a conversation must have saved before it may go along this edge. ``claims`` is what going along it says of the working tree, which is looked at first (``core.decide.claims``). ``returns`` are the calls that are over with it (``core.recipe.expand``; no recipe's file says it). */
export interface Edge {
  to: string | null;
  exit: string | null;
  class: "blocked" | "cancelled" | "checks-failed" | "completed" | "error" | "guardrail" | "needs-user" | null;
  message: string | null;
  requires: Array<string>;
  claims: "clean" | "commit" | "none" | null;
  returns: Array<string>;
}

/** A step is over: its outcome and where that leads (``to`` or ``exit``). ``returns`` are the steps that called a recipe which is over with this. */
export interface EdgeTakenData {
  step: string;
  visit: number;
  outcome: string;
  source: string;
  attempts: number;
  description: string | null;
  detail: string;
  to: string | null;
  exit: string | null;
  session_id: string | null;
  returns: Array<string>;
}

/** An outside effect of the daemon is done: ``effect`` is ``answer:ID``, ``steer:UUID``, ``worktree`` or ``commit``; ``state`` says how it went. ``commit`` is the one that was made. */
export interface EffectEndedData {
  effect: string;
  state: string;
  detail: string;
  commit: string | null;
}

/** An event. What is transient (``turn.output``, ``snapshot``) has no ``seq`` and no ``pos``. */
export interface Event {
  seq?: number;
  pos?: number;
  type: string;
  at: string;
  run_id: string;
  session_id: string | null;
  data: Json;
}

/** Events of a run, and the cursor for what follows. */
export interface EventsPage {
  events: Array<Event>;
  next_seq: number;
}

/** The end of a run. ``detail`` is the cause in the words of its source. */
export interface Exit {
  reason: string;
  category: "completed" | "error" | "guardrail";
  class: "blocked" | "cancelled" | "checks-failed" | "completed" | "error" | "guardrail" | "needs-user";
  message: string;
  detail: string | null;
}

/** The reason why a feed cannot go on: ``slow``, or what failed. */
export interface FeedClosed {
  feed: string;
  reason: string;
}

/** A file before and after: the sha256 of its bytes in hex, ``None`` where there is none. ``path`` is relative to the working directory. ``mode`` is what git calls the file after it (``100644``, ``100755``, ``120000``), as far as the tool that changed it reports it. */
export interface FileChange {
  path: string;
  before?: string | null;
  after?: string | null;
  mode?: string | null;
}

/** ``voice.vocabulary``: that of a session, or of a directory. */
export interface FindTerms {
  session_id?: string | null;
  working_directory?: string | null;
}

/** A fault (``error``) or doubt (``warning``) at a line of ``file``; lines count from 1. */
export interface Finding {
  code: string;
  level: "error" | "warning";
  step: string | null;
  line: number | null;
  message: string;
  file: string;
}

/** The state of the gateway for phones. ``problem``: why it does not listen, ``warning``: why it is not safe; sentences. */
export interface GatewayStatus {
  enabled: boolean;
  url: string | null;
  clients: number;
  problem: string | null;
  warning: string | null;
}

/** ``recipes.get``. */
export interface GetRecipe {
  id: string;
  working_directory?: string | null;
}

/** Facts that a client has to know at first. ``release`` is that of the page as it is served now; a page of another one loads itself anew. ``now`` is RFC 3339. */
export interface Greeting {
  device: string;
  scope: "all" | "answer" | "look" | "work";
  version: string;
  release: string;
  now: string;
}

/** The text of an utterance at a microphone, and the command that it was. */
export interface Heard {
  text: string;
  language: string;
  duration_ms: number;
  latency_ms: number;
  segments: Array<Segment>;
  no_speech: boolean;
  terms_used: Array<string>;
  engine: string;
  model: string | null;
  duration_s: number;
  utterance_id: string;
  command?: SpokenCommand;
}

/** ``client.hello``, the first message of a page. ``secret`` is what it was given when it was paired; the socket needs none. */
export interface Hello {
  secret?: string;
  release?: string;
  languages?: Array<string>;
}

/** The end of a page of a history: behind fact ``seq``, after so many visits and restarts; ``steps`` are those that were entered since the last restart. ``visit`` is the one that the page ends within or behind, where more may come to it. */
export interface HistoryPlace {
  seq: number;
  number: number;
  restart: number;
  steps: Array<string>;
  visit?: VisitHead;
}

/** A command run around a conversation's tools; exit status 2 refuses. */
export interface Hook {
  event: "after-tool" | "before-tool" | "turn-end";
  run: Array<string>;
  match: string | null;
}

/** A hook at the end of a conversation's turn has been run. ``refused``: its word is no, for ``reason``. Any other failure of it decides nothing. */
export interface HookEndedData {
  step: string;
  visit: number;
  index: number;
  run: Array<string>;
  exit_status: number | null;
  refused: boolean;
  reason: string;
  seconds: number;
}

/** A step passed: its outcome and where that led (``None``: out of the recipe). */
export interface Hop {
  step: string;
  outcome: string;
  to: string | null;
}

/** A picture: what it is and its size, not its bytes. */
export interface Image {
  kind: "image";
  media_type: string;
  size: number;
}

/** Recipes as seen from a directory. */
export interface InDirectory {
  working_directory?: string | null;
}

/** ``voice.install``. */
export interface InstallModel {
  name: string;
}

/** Leave for one page to be paired, by opening ``url`` or by typing ``code`` into it. ``qr`` is the URL in half blocks, ``png`` a picture of that in base64. */
export interface Invitation {
  url: string;
  code: string;
  scope: "all" | "answer" | "look" | "work";
  url_minutes: number;
  code_minutes: number;
  qr: string;
  ways: Array<WayIn>;
  trust: string | null;
  fingerprint: string | null;
  warning: string | null;
  png?: string;
}

/** A recipe as data, where it is from, where each step can lead, and what it may cost at worst (``None``: it calls one that cannot be called). */
export interface KnownRecipe {
  id: string;
  label: string;
  description: string;
  initial: string;
  params: { [name: string]: Param };
  limits: Limits;
  context: { [name: string]: Json };
  steps: { [name: string]: Step };
  digest: string;
  format: number;
  needs: Array<string>;
  source: "builtin" | "project" | "user";
  path: string;
  shadows: Array<string>;
  trusted: boolean;
  changed: boolean;
  ways: { [name: string]: Array<Way> };
  worst_case: WorstCase | null;
}

/** The changes that a run left uncommitted: ``paths``, and how many ``more``. ``problem`` is the reason why no look was possible. */
export interface Left {
  head: string | null;
  paths: Array<string>;
  more: number;
  problem: string | null;
}

/** Paths that are not committed; ``more`` counts those that are not named. */
export interface LeftPaths {
  paths: Array<string>;
  more: number;
}

/** A guardrail refused to go on. ``limit`` is the exit reason, ``count`` the limit itself. */
export interface LimitHitData {
  limit: string;
  count: number;
}

/** The bounds of a run; ``None`` is no bound. Minutes are of work, not of waiting. */
export interface Limits {
  max_step_visits: number | null;
  max_total_steps: number | null;
  max_minutes: number | null;
  max_cost_usd: number | null;
  max_retries: number;
  max_restarts: number;
  on_limit: "ask" | "exit";
}

/** The bounds of the daemon (``[limits]``). */
export interface LimitsInForce {
  max_agents: number;
  max_queued: number;
  agent_memory_megabytes: number;
  spool_megabytes: number;
  run_spool_megabytes: number;
  output_megabytes: number;
  turn_timeout_seconds: number;
  idle_timeout_seconds: number;
}

/** ``runs.list``; ``before``: a run. */
export interface ListRuns {
  active?: boolean | null;
  limit?: number;
  before?: string | null;
}

/** ``sessions.list``; ``before``: a ``last_modified``. */
export interface ListSessions {
  working_directory?: string | null;
  limit?: number;
  before?: string | null;
}

/** A session or a working tree that is held. */
export interface Lock {
  session_id?: string | null;
  working_directory?: string | null;
  holder: LockHolder;
}

/** The holder of a session or a working tree; what is not known is left out. */
export interface LockHolder {
  kind: "foreign" | "prompt" | "run";
  id?: string | null;
  pid?: number | null;
  since?: string | null;
}

/** The working tree as it was seen once; ``uncommitted`` are the paths that differ from ``head``. */
export interface Look {
  repository?: boolean;
  head?: string | null;
  commits?: number;
  uncommitted: Array<string>;
  more?: number;
  problem?: string;
}

/** The turn does nothing more than to commit what it has changed, where that is wanted. ``kind`` is how the turn ends; ``reason`` is the exit reason where a rule of the loop ended it, with the limit that it names. ``cost_usd`` is what requests have cost of which no reply came. */
export interface LoopEndedData {
  turn_id: string;
  kind: "api_error" | "broken" | "budget" | "done" | "failed" | "interrupted" | "stopped" | "timeout" | "usage_limit";
  reason: string;
  detail: string;
  limit: number | null;
  api_status: number | null;
  resets_at: string | null;
  cost_usd: number;
}

/** Settings that hold for one turn, even if the configuration changes meanwhile. ``max_iterations`` counts replies of the model. ``budget_usd`` is what the turn may cost. ``commit``: what it has changed becomes a commit at its end. ``since`` is where HEAD was at its beginning, empty for nowhere: what earlier turns of its run have left becomes part of that commit, unless HEAD has moved; with ``None`` nothing of it does. ``tools`` are the names of the actions that there are, ``served`` those of Podium's own tools, which are actions too. */
export interface LoopSettings {
  max_iterations: number;
  tools: Array<string>;
  commit?: boolean;
  budget_usd?: number | null;
  served?: Array<string>;
  since?: string | null;
}

/** A turn of the native agent begins. */
export interface LoopStartedData {
  turn_id: string;
  settings: LoopSettings;
}

/** The result of a merge. ``merged`` is false where the branch had it all already. */
export interface Merged {
  branch: string;
  into: string;
  repository: string;
  commit: string;
  merged: boolean;
  left?: LeftPaths;
}

/** A message of a session. ``forks_from``: it does not follow the message before it but the one of that ``seq`` (0: one that is not in the log). ``gone``: its line is no longer in the transcript. */
export interface Message {
  seq: number;
  uuid: string;
  role: "assistant" | "user";
  text: string;
  timestamp: string;
  blocks: Array<Text | Thinking | ToolUse | ToolResult | Image | Other>;
  forks_from?: number | null;
  gone?: boolean;
}

/** A person's words in a conversation: the next prompt of its phase. ``by`` names who spoke. The answer to a question of the conversation is such words too, under the question's id. */
export interface MessageReceivedData {
  uuid: string;
  text: string;
  by: string;
}

/** Messages of a session, and where they stand in its log. ``first_seq`` and ``last_seq`` are those of the whole log (0: it is empty), ``first_uuid`` is that of message 1, which distinguishes one log from another. ``gone`` counts the messages whose lines are no longer in the transcript. ``next_seq`` is the cursor for what follows; ``complete``: nothing follows yet. */
export interface MessagesPage {
  messages: Array<Message>;
  first_seq: number;
  first_uuid: string | null;
  last_seq: number;
  next_seq: number;
  complete: boolean;
  generation: number;
  gone: number;
}

/** A microphone that is open; ``next_frame`` is the number of the piece that it waits for. */
export interface Microphone {
  utterance_id: string;
  next_frame: number;
  state: "loading" | "ready";
}

/** Messages that a session has grown by; see ``MessagesPage``. */
export interface NewMessages {
  session_id: string;
  messages: Array<Message>;
  first_uuid: string | null;
  last_seq: number;
  next_seq: number;
  generation: number;
  gone: number;
}

/** No parameters. */
export interface Nothing {
}

/** Methods that need only a run. */
export interface OneRun {
  run_id: string;
}

/** Methods that need only a session. */
export interface OneSession {
  session_id: string;
}

/** ``voice.end`` and ``voice.cancel``. */
export interface OneUtterance {
  utterance_id: string;
}

/** ``voice.start``; without an id one is made up. */
export interface OpenMicrophone {
  utterance_id?: string | null;
  format?: "caf" | "flac" | "m4a" | "mp3" | "mp4" | "ogg" | "pcm16" | "wav" | "webm";
  sample_rate?: number;
  language?: string | null;
  session_id?: string | null;
  partials?: boolean;
}

/** The availability of recipes. */
export interface Orchestration {
  enabled: boolean;
}

/** A block of an unknown kind, by the name that the agent gives it. */
export interface Other {
  kind: "other";
  type: string;
}

/** A reply without a usable outcome. */
export interface OutcomeInvalidData {
  step: string;
  error: string;
  message: string;
  attempt: number;
  excerpt: string;
  returned: string | null;
  expected: Array<string>;
}

/** The agent's word for how the step went; checks may still overrule it. */
export interface OutcomeParsedData {
  step: string;
  outcome: string;
  source: string;
  description: string | null;
  repaired: boolean;
  detail: string;
  attempt: number;
}

/** ``gateway.pair``; without a name it is 'phone', or 'phone-2' and so on; a page is 'browser'. ``scope`` is a page's. */
export interface Pair {
  name?: string | null;
  png?: boolean;
  kind?: "phone" | "web";
  scope?: "all" | "answer" | "look" | "work";
}

/** A device that was paired now. ``key`` stands here only; ``qr`` is it in half blocks, ``png`` a picture of that in base64. ``trust``: how a phone comes to trust the certificate. */
export interface Pairing {
  device: string;
  url: string;
  key: string;
  qr: string;
  ways: Array<WayIn>;
  trust: string | null;
  fingerprint: string | null;
  warning: string | null;
  png?: string;
}

/** A value given at the start; without a default it must be given. ``needed``: where it must be given all the same. In a new session there is no conversation yet that could stand for it. */
export interface Param {
  type: "agent" | "boolean" | "choice" | "integer" | "path" | "string";
  default: string | number | boolean | null;
  choices: Array<string>;
  description: string;
  needed: "new-session" | null;
}

/** ``recipes.outcome``. */
export interface ParseOutcome {
  id: string;
  step: string;
  text: string;
  working_directory?: string | null;
}

/** The text so far of an utterance that goes on. */
export interface Partial {
  utterance_id: string;
  text: string;
}

/** Paths, the shortest first; without ``complete`` there are more of them. */
export interface Paths {
  paths: Array<SimplePath>;
  complete: boolean;
}

/** A setting that the file has otherwise than the daemon that runs. */
export interface PendingSetting {
  key: string;
  running: Json;
  file: Json;
}

/** The effect of a script in one phase; the fields in common with those of a ``StepPlay`` mean the same. ``waits``: the phase waits for the person when the script is at its end. */
export interface PhasePlay {
  replies: Array<PhaseReply>;
  outcome: string | null;
  to: string | null;
  exit: Exit | null;
  unused: number;
  waits: boolean;
}

/** The effect of one turn of the agent. ``prompt`` is what it was sent, ``text`` its reply, ``ctx`` what is saved after it. With a ``fault`` the reply could not be read and nothing of it was done. ``transition`` is the way it goes on by, ``question`` what it asks the person. ``ok``: nothing was refused. */
export interface PhaseReply {
  ok: boolean;
  prompt: string;
  text: string;
  fault: string | null;
  tools: Array<ToolPlayed>;
  ctx: { [name: string]: Json };
  transition: string | null;
  question: string | null;
}

/** The daemon answers. */
export interface Pong {
  pong: boolean;
}

/** The progress of an installation. */
export interface Progress {
  name: string;
  phase: "done" | "hub" | "package" | "verify";
  message: string;
  bytes?: number;
  total?: number;
}

/** A visit of a step ended as visit ``since`` did: same outcome, same findings, same tree. A notice; the run goes on. It follows the ``edge.taken`` of that visit. */
export interface ProgressStalledData {
  step: string;
  visit: number;
  since: number;
  outcome: string;
  tree: TreeMark;
}

/** ``sessions.prompt``. */
export interface Prompt {
  text: string;
  session_id?: string | null;
  working_directory?: string | null;
  agent?: string | null;
  model?: string | null;
  script?: string | null;
  files?: Array<string> | null;
  if_busy?: "queue" | "refuse" | "steer";
  fork?: boolean;
  take_over?: boolean;
  wait?: boolean;
  permission_mode?: string | null;
  client_token?: string | null;
}

/** ``storage.prune``. ``what``: parts, none is all of them. ``dry_run``: say what would go. ``vacuum``: give the disk back what of ``facts.db`` is not in use. */
export interface Prune {
  what?: Array<string>;
  dry_run?: boolean;
  vacuum?: boolean;
}

/** The parts that were removed, or would be; ``vacuumed`` are bytes given back to the disk. */
export interface Pruned {
  dry_run: boolean;
  parts: Array<PrunedPart>;
  vacuumed: number | null;
}

/** The amount of a part that was removed, or would be. */
export interface PrunedPart {
  part: string;
  count: number;
  bytes: number;
}

/** A question, and its answer once it is ``closed``. ``paused``: its run is, and after the answer it goes on only when it is resumed. */
export interface Question {
  question_id: string;
  run_id: string;
  run_name: string;
  session_id: string;
  kind: "approval" | "ask" | "gate" | "limit" | "recover";
  text: string;
  choices: Array<Choice>;
  free_text: boolean;
  multi: boolean;
  columns: Array<{ [name: string]: Json }>;
  detail: string;
  tool: string | null;
  input: { [name: string]: Json } | null;
  opened_at: string;
  answer: string | null;
  note: string | null;
  by: string | null;
  closed: string | null;
  paused: boolean;
}

/** A question is no longer open. ``declines`` takes the step's edge for a gate refused. */
export interface QuestionClosedData {
  question_id: string;
  closed: "answered" | "expired" | "superseded";
  answer: string | null;
  note: string | null;
  by: string | null;
}

/** A person is needed. */
export interface QuestionOpenedData {
  question_id: string;
  kind: "approval" | "ask" | "gate" | "limit" | "recover";
  text: string;
  choices: Array<Choice>;
  free_text: boolean;
  detail: string;
  turn_id: string | null;
  request_id: string | null;
  tool: string | null;
  input: { [name: string]: Json } | null;
  tool_use_id: string | null;
  step: string | null;
  visit: number;
  multi: boolean;
  columns: Array<{ [name: string]: Json }>;
  rule: string;
}

/** ``runs.history``; ``after``: the ``next`` of the page before. */
export interface ReadHistory {
  run_id: string;
  after?: HistoryPlace | null;
}

/** A recipe in a list. ``shadows`` are the sources of the recipes of its id that it hides; ``ok`` is false where it has faults. */
export interface RecipeRow {
  id: string;
  label: string;
  description: string;
  first_prompt: string;
  source: "builtin" | "project" | "user";
  path: string;
  shadows: Array<string>;
  trusted: boolean;
  changed: boolean;
  ok: boolean;
}

/** ``recipes.rehearse``. */
export interface Rehearse {
  id: string;
  step: string;
  replies: Array<string>;
  working_directory?: string | null;
}

/** A reply after which the agent is asked again, or given up. */
export interface Rejected {
  ok: false;
  error: string;
  message: string;
  excerpt: string;
}

/** The settings that took effect, and those that wait for a restart. */
export interface Reloaded {
  changed: Array<string>;
  pending: Array<PendingSetting>;
  restart: string;
}

/** ``worktrees.remove``; with ``force`` also what would be lost. */
export interface RemoveWorktree {
  run_id: string;
  force?: boolean;
}

/** A worktree that was removed; ``lost`` is what was, in words. ``lost_commits``: commits that no other branch has; ``None`` where git did not say how many. */
export interface Removed {
  directory: string;
  branch: string;
  commit: string | null;
  branch_kept: boolean;
  lost: string | null;
  lost_commits: number | null;
}

/** ``runs.rename``; an empty title: by recipe and task again. */
export interface RenameRun {
  run_id: string;
  title: string;
}

/** The model's ``number``-th reply of the turn. With a ``fault`` nothing of it is done. */
export interface ReplyReceivedData {
  turn_id: string;
  number: number;
  text: string;
  stop: "end" | "length" | "other";
  actions: Array<string>;
  fault: string | null;
  model: string;
  usage: Usage;
  cost_usd: number;
  said: string;
}

/** ``gateway.scope``. */
export interface Rescope {
  device: string;
  scope: "all" | "answer" | "look" | "work";
}

/** The result of an action, as the model gets it. A ``critical`` failure stops the rest of the reply. */
export interface Result {
  action: string;
  success: boolean;
  message: string;
  output?: string;
  critical?: boolean;
}

/** The retention in force: what is kept, and for how long (``[retention]``). */
export interface RetentionInForce {
  runs_days: number;
  failed_turns: number;
  failed_checks: number;
  failed_megabytes: number;
  commands: number;
  commands_days: number;
  transcripts_days: number;
  gone_days: number;
  copies_days: number;
}

/** ``gateway.revoke``. */
export interface Revoke {
  device: string;
}

/** A run. ``ctx`` is what its conversations have saved; ``runs.list`` leaves it out. ``paused`` is true beside the status ``waiting`` too. A run of an earlier release has no ``tokens``. */
export interface Run {
  run_id: string;
  kind: "prompt" | "recipe";
  recipe: string | null;
  name: string;
  session_id: string;
  main_session_id: string;
  working_directory: string;
  agent: string;
  model: string | null;
  params: { [name: string]: string | number | boolean };
  limits: Limits | null;
  status: "ended" | "parked" | "paused" | "queued" | "running" | "waiting";
  paused: boolean;
  stop: "cancel" | "end" | "interrupt" | "pause" | null;
  step: string | null;
  step_count: number;
  visits: { [name: string]: number };
  questions: Array<Question>;
  ctx?: { [name: string]: Json };
  turns: number;
  cost_usd: number;
  tokens?: TokensUsed;
  seconds: number;
  restarts: number;
  base: string | null;
  left: Left | null;
  parked_until: string | null;
  worktree: Worktree | null;
  started_at: string;
  ended_at: string | null;
  exit: Exit | null;
}

/** The run is over. ``undelivered`` are texts of steers that no prompt carried any more. */
export interface RunEndedData {
  exit: Exit;
  undelivered: Array<string>;
  run: Run | null;
}

/** ``runs.events``. */
export interface RunEvents {
  run_id: string;
  after_seq?: number;
  follow?: boolean;
}

/** Visits of a run, in their order, told up to ``until``: its end, or now. ``started`` is the data of its first event, on the first page. ``complete``: there are no more for now; what comes after the last visit that is over comes after ``next``. */
export interface RunHistory {
  started: RunStartedData | null;
  visits: Array<WholeVisit>;
  undelivered: Array<string>;
  until: string;
  next: HistoryPlace;
  complete: boolean;
}

/** An image of a prompt: the person's ``file``, and the ``name`` of the copy that is sent. */
export interface RunImage {
  file: string;
  name: string;
  media_type: string;
  size: number;
}

/** The agent's usage limit is reached; the run goes on by itself at ``until``. */
export interface RunParkedData {
  until: string;
  detail: string;
}

/** The run stands still until it is resumed. */
export interface RunPausedData {
  why: string;
}

/** The run has a title, by which it is called; without one, by its recipe and task. */
export interface RunRenamedData {
  title: string;
}

/** The run goes on. */
export interface RunResumedData {
  why: string;
}

/** ``runs.start``. */
export interface RunStart {
  recipe: string;
  working_directory: string;
  session_id?: string | null;
  params?: { [name: string]: string | number | boolean };
  agent?: string | null;
  model?: string | null;
  script?: string | null;
  worktree?: boolean;
  anyway?: boolean;
  on_question?: "ask" | "fail" | "wait";
  client_token?: string | null;
}

/** A run exists. The recipe stands in it whole: later edits never reach a running run. ``agent`` takes the steps that name none; a person ``agent_given`` it, or it is the default. ``agent_override`` takes every step: so runs of earlier releases began. ``doubts`` are sentences for people about how it was started. */
export interface RunStartedData {
  run_id: string;
  kind: "prompt" | "recipe";
  session_id: string;
  working_directory: string;
  agent: string;
  recipe: string | null;
  source: string | null;
  agent_override: string | null;
  agent_given: string | null;
  doubts: Array<string>;
  fork_from: string | null;
  params: { [name: string]: string | number | boolean };
  limits: Limits | null;
  on_question: "ask" | "fail" | "wait";
  text: string | null;
  system_prompt: string | null;
  worktree: Worktree | null;
  aside_of: string | null;
  permission_mode: string | null;
  model: string | null;
  script: string | null;
  images: Array<RunImage>;
  name: string;
  label: string | null;
  first_prompt: string | null;
}

/** ``voice.say``; ``full``: all of it, else its first sentences. */
export interface Say {
  text: string;
  full?: boolean;
}

/** A part of a transcript; times in seconds from the beginning of the audio. */
export interface Segment {
  start: number;
  end: number;
  text: string;
}

/** A session of any origin. ``gone``: its transcript is not there any more; ``size`` is in bytes. */
export interface Session {
  session_id: string;
  agent: string;
  name: string;
  working_directory: string | null;
  created: string | null;
  last_modified: string;
  message_count: number;
  preview: string;
  holder: LockHolder | null;
  active_recipe: ActiveRecipe | null;
  gone: boolean;
  size: number;
  subagents: number;
  tool_results: number;
}

/** ``sessions.messages`` and ``sessions.subscribe``. */
export interface SessionMessages {
  session_id: string;
  after_seq?: number | null;
  limit?: number;
}

/** The agent of a turn has an id of its own for the session: ``agent_session_id``. ``session_id`` is the session's name for everybody else, for ever. ``family`` are the agents that mean this session by that id. */
export interface SessionNamedData {
  turn_id: string;
  session_id: string;
  agent_session_id: string;
  family: string;
}

/** Sessions, newest first; ``total`` counts all. */
export interface SessionsPage {
  sessions: Array<Session>;
  total: number;
}

/** A setting in force, and where it comes from. */
export interface Setting {
  key: string;
  value: Json;
  source: string;
}

/** ``daemon.shutdown``. */
export interface Shutdown {
  turns?: "interrupt" | "leave";
}

/** A way through the recipe that enters no step twice; ``exit`` is ``None`` at a restart. */
export interface SimplePath {
  trace: Array<Hop>;
  exit: Exit | null;
}

/** ``recipes.simulate``; what a step cannot end with, the simulation says best. */
export interface Simulate {
  id: string;
  outcomes: Array<string>;
  working_directory?: string | null;
}

/** The data of ``snapshot``: where a conversation stands, its phase, what has been saved, and what it waits for. */
export interface Snapshot {
  run_id: string;
  session_id: string;
  phase: string | null;
  ctx: { [name: string]: Json };
  question: Question | null;
  run: Run;
}

/** A model of speech. ``source``: where it comes from; ``configured``: it is the one in use. */
export interface SpeechModel {
  name: string;
  installed: boolean;
  path: string | null;
  megabytes: number | null;
  multilingual: boolean | null;
  source: "directory" | "hub" | "package";
  configured: boolean;
}

/** The state of speech; ``problem`` says what is wrong and what to do. */
export interface SpeechStatus {
  state: "failed" | "idle" | "loading" | "no-model" | "not-installed" | "off" | "ready";
  model: string | null;
  engine: string | null;
  problem: string | null;
}

/** The utterance that is being spoken at the machine. */
export interface Spoken {
  spoken: string;
}

/** The result of a spoken command; ``read_back`` is to be spoken. */
export interface SpokenCommand {
  command: string;
  state: "applied" | "confirm" | "refused";
  question_id: string | null;
  choice: string | null;
  read_back: string;
}

/** ``runs.steer``. */
export interface Steer {
  run_id: string;
  text: string;
}

/** A person's words for the running turn. Without ``turn_id`` they wait for the next prompt. */
export interface SteerIntendedData {
  uuid: string;
  text: string;
  turn_id: string | null;
}

/** The fate of a person's words: the turn has them, or its next prompt will. */
export interface Steered {
  state: "queued" | "too_late";
}

/** A state of the machine. ``kind`` decides which fields mean something. ``outcomes`` are the declared ones in order; ``tools`` is ``all``, ``read-only``, ``none`` or the names that exist in the step; ``gate`` is a question asked before the step starts. ``agent`` is an agent's name, or ``{{NAME}}`` of a parameter that names one (``core.recipe.parts``); ``needs`` are what the agent has to be able to do, beside what the step shows by itself. */
export interface Step {
  kind: "call" | "command" | "gate" | "talk" | "turn";
  prompt: string;
  session: "fork" | "fresh" | "same";
  agent: string | null;
  needs: Array<string>;
  model: string | null;
  tools: string | Array<string>;
  allow: Array<string>;
  permission_mode: string | null;
  timeout_minutes: number | null;
  outcomes: Array<string>;
  on: { [name: string]: Edge };
  checks: Array<Check>;
  gate: string | null;
  commits: boolean;
  irreversible: boolean;
  run: Array<string>;
  shell: string | null;
  ask: string | null;
  choices: Array<string>;
  recipe: string | null;
  params: { [name: string]: string | number | boolean };
  system: string | null;
  opening: string | null;
  auto: boolean;
  hooks: Array<Hook>;
}

/** An entry into a step: visits and steps are counted here and nowhere else. */
export interface StepEnteredData {
  step: string;
  visit: number;
  step_count: number;
  session_id: string;
  fork_from: string | null;
}

/** The effect of replies at one step: how each was read, and where they lead. ``outcome``, ``to`` and ``exit`` are ``None`` where the replies ran out before the step was over; ``unused`` counts those that came after its end. */
export interface StepPlay {
  replies: Array<Accepted | Rejected>;
  outcome: string | null;
  to: string | null;
  exit: Exit | null;
  unused: number;
}

/** The stop that is to come after the running turn, command or check. Stored before it is sent. ``pause`` and ``end`` let it come to its own end, then pause the run or end it; ``interrupt`` and ``cancel`` stop it first, and do the same. */
export interface StopIntendedData {
  how: "cancel" | "end" | "interrupt" | "pause";
  reason: string;
  detail: string;
}

/** The treatment of the turns that run when the daemon stops. */
export interface Stopping {
  turns: "interrupt" | "leave";
}

/** A part of STATE. ``bytes``: ``None`` where there are too many files to look at; ``bound`` says in words what bounds it. */
export interface StoragePart {
  part: string;
  bytes: number | null;
  bound: string;
}

/** The space that STATE takes; ``unused`` are bytes of ``facts.db``. */
export interface StorageUsage {
  state: string;
  parts: Array<StoragePart>;
  unused: number;
}

/** ``events.subscribe``; ``types``: ``None`` is all of them. */
export interface Subscribe {
  types?: Array<string> | null;
  after?: number | null;
}

/** The position at which a subscription begins. */
export interface Subscribed {
  pos: number;
}

/** The number of the piece that comes next. */
export interface Taken {
  next_frame: number;
}

/** A conversation that goes on when its person says something. */
export interface Talk {
  run_id: string;
  name: string;
  session_id: string;
}

/** A word to expect, and where it comes from. */
export interface Term {
  term: string;
  source: "branch" | "dependency" | "file" | "identifier" | "recipe" | "step";
}

/** The words to expect, the most important first. ``complete``: everything was looked at. */
export interface Terms {
  working_directory: string;
  terms: Array<Term>;
  complete: boolean;
}

/** Words, as Markdown. */
export interface Text {
  kind: "text";
  text: string;
}

/** The model's reasoning, as far as the agent shows it: it may be empty. */
export interface Thinking {
  kind: "thinking";
  text: string;
}

/** The tokens of a turn: what the model read, how much of that it had cached, what it wrote. */
export interface Tokens {
  read: number;
  cached: number;
  written: number;
}

/** The tokens of several turns, as far as these tell; ``untold`` are the turns that do not. */
export interface TokensUsed {
  read: number;
  cached: number;
  written: number;
  untold: number;
}

/** ``mcp.message``. ``message`` is a line of the Model Context Protocol, as the agent wrote it. ``delivery`` is the same when it is sent again, and no other has it: its calls are then done once. */
export interface ToolMessage {
  token: string;
  message: string;
  delivery?: string | null;
}

/** A call of one of Podium's tools, and the answer that the agent gets. */
export interface ToolPlayed {
  tool: string;
  args: { [name: string]: Json };
  success: boolean;
  message: string;
}

/** The answer to a message of an agent: a message, a batch, or nothing. */
export interface ToolReply {
  reply: Json;
}

/** The result of a tool. ``left_out`` counts the characters cut from the end of ``text``. */
export interface ToolResult {
  kind: "tool_result";
  tool_use_id: string;
  text: string;
  is_error: boolean;
  left_out: number;
}

/** A call of a tool; ``id`` ties its result to it. */
export interface ToolUse {
  kind: "tool_use";
  id: string;
  name: string;
  input: { [name: string]: Json };
}

/** The agent has called one of Podium's own tools. ``message`` is the answer that it got. ``call_id`` names the call within its turn: the same call is never recorded twice. ``args`` are as they were taken, so a text that stood for a number is the number. */
export interface ToolUsedData {
  turn_id: string;
  call_id: string;
  tool: string;
  args: { [name: string]: Json };
  success: boolean;
  message: string;
}

/** The effect of a list of outcomes: the steps passed, and the exit where one was reached. ``unused`` are the outcomes that were left over at the exit. */
export interface Trace {
  trace: Array<Hop>;
  exit: Exit | null;
  unused?: Array<string>;
}

/** ``voice.transcribe``: ``path``, or ``audio`` with its ``format``. */
export interface Transcribe {
  path?: string | null;
  audio?: string | null;
  format?: "caf" | "flac" | "m4a" | "mp3" | "mp4" | "ogg" | "pcm16" | "wav" | "webm" | null;
  sample_rate?: number;
  language?: string | null;
  session_id?: string | null;
}

/** The text of a recording. ``latency_ms``: from the end of the audio to this. ``no_speech``: no person spoke. ``terms_used``: the words that the engine was to expect. */
export interface Transcribed {
  text: string;
  language: string;
  duration_ms: number;
  latency_ms: number;
  segments: Array<Segment>;
  no_speech: boolean;
  terms_used: Array<string>;
  engine: string;
  model: string | null;
  duration_s: number;
}

/** The working tree as it was: HEAD and a digest of everything that differs from it. */
export interface TreeMark {
  head: string | null;
  digest: string;
}

/** The working tree was looked at: before the run's first step, because of a claim, or where the run ends. */
export interface TreeSeenData {
  why: "claim" | "end" | "start";
  look: Look;
}

/** ``recipes.trust``; without ``digests`` every recipe of the project as it is now. */
export interface TrustRecipes {
  working_directory: string;
  digests?: { [name: string]: string } | null;
}

/** A recipe that is trusted now. */
export interface TrustedRecipe {
  id: string;
  digest: string;
}

/** A turn: the words of its agent, and what came of it. */
export interface Turn {
  turn_id: string | null;
  run_id: string;
  session_id: string | null;
  status: "ended" | "queued" | "running";
  text: string;
  outcome: string | null;
  exit: Exit | null;
  files: Array<TurnFile>;
  commit: string | null;
  cost_usd: number;
  tokens: TokensUsed;
  started_at: string | null;
  ended_at: string | null;
}

/** The agent is gone. ``seconds`` is active time: what questions took is not in it. ``tree`` is the working tree that it left, in a step that the run can come back to. */
export interface TurnEndedData {
  turn_id: string;
  report: TurnReport;
  text: string;
  seconds: number;
  cost_usd: number;
  tree: TreeMark | null;
}

/** A file that a turn has changed. */
export interface TurnFile {
  path: string;
  change: string;
}

/** A prompt is about to be sent. Stored before the agent is started. ``system`` is the system text of a phase, ``served`` names the tools that Podium itself offers in this turn. ``anew``: the agent's conversation is gone, and begins again with a summary. ``agent_session_id`` is the agent's own id of the conversation that the turn goes on with, or copies (``fork_from``), where it names its sessions itself and there is one. */
export interface TurnIntendedData {
  turn_id: string;
  prompt_uuid: string;
  purpose: "again" | "go-on" | "interrupted" | "opening" | "prompt" | "retry" | "say" | "step";
  session_id: string;
  agent: string;
  prompt: string;
  attempt: number;
  step: string | null;
  visit: number;
  fork_from: string | null;
  model: string | null;
  tools: string | Array<string>;
  allow: Array<string>;
  permission_mode: string | null;
  outcomes: Array<string>;
  budget_usd: number | null;
  timeout_seconds: number | null;
  seconds_left: number | null;
  tree: TreeMark | null;
  carried: Array<string>;
  system: string | null;
  served: Array<string>;
  anew: boolean;
  agent_session_id: string | null;
}

/** The data of ``turn.output``: a piece of what an agent says. ``at`` are the characters of its kind before it in its ``part``. */
export interface TurnOutput {
  turn_id: string;
  uuid: string;
  kind: string;
  delta: string;
  part: string;
  at: number;
}

/** The end of one turn. ``texts`` are the agent's own messages of this turn in order (no sub-agents, no synthetic ones); ``result_text`` its last words. ``cost_usd`` and ``tokens`` are this turn's alone (a delta), 0 and ``None`` where the agent does not tell them. ``seconds`` is the monotonic length of the turn, time of open questions included. ``mark`` describes the transcript when the process had ended ({"size", "last_uuid"}). ``undelivered`` are uuids of steers the agent never began with. ``files`` are what the turn changed, each with ``created``, ``modified`` or ``deleted``, as far as the agent reports it; ``commit`` is the commit that it made of them. ``limit`` is the number that ``reason`` speaks of. */
export interface TurnReport {
  kind: "api_error" | "broken" | "budget" | "done" | "failed" | "interrupted" | "stopped" | "timeout" | "usage_limit";
  detail: string;
  texts: Array<string>;
  result_text: string;
  structured: { [name: string]: Json } | null;
  tool_outcome: { [name: string]: Json } | null;
  denials: Array<Denial>;
  cost_usd: number;
  tokens: Tokens | null;
  seconds: number;
  exit_status: number | null;
  api_status: number | null;
  resets_at: string | null;
  background_stopped: Array<string>;
  prompt_recorded: boolean;
  tool_begun: boolean;
  bad_lines: number;
  undelivered: Array<string>;
  mark: { [name: string]: Json } | null;
  files: Array<[string, string]>;
  commit: string | null;
  reason: string;
  limit: number | null;
}

/** The agent's process exists. ``mono`` is the machine's monotonic clock in seconds. */
export interface TurnStartedData {
  turn_id: string;
  pid: number;
  proc_start: number;
  group: number;
}

/** Tokens of one request; ``cached`` are those of ``input`` that came from the cache. */
export interface Usage {
  input?: number;
  output?: number;
  cached?: number;
}

/** The end of a visit of a step: how it ended, and when. */
export interface Visit {
  step: string;
  visit: number;
  outcome: string;
  source: string;
  attempts: number;
  at: string;
  description: string | null;
}

/** A call of a tool by the native agent, and what came of it in short. */
export interface VisitCall {
  tool: string;
  message: string;
}

/** A check of a step, or the command that is the step. ``passed`` is ``None`` while it runs. */
export interface VisitCommand {
  kind: "check" | "command";
  run: Array<string>;
  began_at: string;
  ended_at: string | null;
  passed: boolean | null;
  exit_status: number | null;
  seconds: number;
  tail: string;
  log: string;
}

/** A fault in the outcome of a reply. */
export interface VisitFault {
  error: string;
  message: string;
  excerpt: string;
}

/** A visit of a step without what happened in it. ``number`` counts the visits of the run, ``restart`` its restarts; ``outcome`` is ``None`` until an edge is taken; ``returned``: that leads to an earlier step. */
export interface VisitHead {
  number: number;
  restart: number;
  step: string;
  visit: number;
  session_id: string;
  began_at: string;
  ended_at: string | null;
  outcome: string | null;
  source: string | null;
  repaired: boolean;
  attempts: number;
  description: string | null;
  to: string | null;
  exit: string | null;
  returned: boolean;
}

/** A fact that happened on the way: an event's type and its data. */
export interface VisitNote {
  at: string;
  type: string;
  data: Json;
}

/** A question that a visit waited for: the data of its event, and of the one that closed it. */
export interface VisitQuestion {
  opened_at: string;
  closed_at: string | null;
  opened: QuestionOpenedData;
  closed: QuestionClosedData | null;
}

/** A time in which the run stood still. ``why``: what paused it, or until when it is parked. */
export interface VisitStill {
  kind: "parked" | "paused";
  why: string;
  began_at: string;
  ended_at: string | null;
}

/** One prompt and what came of it. ``seconds`` is work only; ``tokens`` are ``None`` where the agent does not tell them; ``end`` is how it ended; ``read`` is the outcome that its text was read as; ``calls`` are the first of its tools' calls. */
export interface VisitTurn {
  turn_id: string;
  purpose: string;
  attempt: number;
  agent: string;
  model: string | null;
  prompt: string;
  began_at: string;
  ended_at: string | null;
  seconds: number;
  cost_usd: number;
  tokens: Tokens | null;
  end: string | null;
  detail: string;
  text: string;
  fault: VisitFault | null;
  read: string | null;
  calls: Array<VisitCall>;
  more_calls: number;
}

/** A way out of a step: ``to`` a step or ``@restart``, or ``exit`` with a reason. ``class_`` is the class of the exit, from the edge or the table of reasons. ``implied``: the recipe says nothing about this outcome, a built-in edge takes it. (The last phase of a conversation needs no such mark: that it has no edges shows that it completes.) */
export interface Way {
  outcome: string;
  to: string | null;
  exit: string | null;
  class: "blocked" | "cancelled" | "checks-failed" | "completed" | "error" | "guardrail" | "needs-user" | null;
  implied: boolean;
}

/** A way in which a phone reaches this machine, in a sentence. */
export interface WayIn {
  way: "network" | "ssh" | "tailscale";
  text: string;
}

/** The destination of a prompt. ``uuid`` names words that go to a conversation. */
export interface Went {
  session_id: string | null;
  turn_id: string | null;
  run_id: string;
  delivery: "next prompt" | "phase" | "queued" | "sent" | "steered";
  uuid?: string;
}

/** A run with what grows with its steps: the sessions it has had, and its history. */
export interface WholeRun {
  run_id: string;
  kind: "prompt" | "recipe";
  recipe: string | null;
  name: string;
  session_id: string;
  main_session_id: string;
  working_directory: string;
  agent: string;
  model: string | null;
  params: { [name: string]: string | number | boolean };
  limits: Limits | null;
  status: "ended" | "parked" | "paused" | "queued" | "running" | "waiting";
  paused: boolean;
  stop: "cancel" | "end" | "interrupt" | "pause" | null;
  step: string | null;
  step_count: number;
  visits: { [name: string]: number };
  questions: Array<Question>;
  ctx?: { [name: string]: Json };
  turns: number;
  cost_usd: number;
  tokens?: TokensUsed;
  seconds: number;
  restarts: number;
  base: string | null;
  left: Left | null;
  parked_until: string | null;
  worktree: Worktree | null;
  started_at: string;
  ended_at: string | null;
  exit: Exit | null;
  sessions: Array<string>;
  history: Array<Visit>;
}

/** A visit of a step: what happened in it and before it, and what that came to. ``number`` counts the visits of the run, ``restart`` its restarts. ``waited_seconds`` is how long a person was waited for, ``still_seconds`` how long the run was paused or parked. */
export interface WholeVisit {
  number: number;
  restart: number;
  step: string;
  visit: number;
  session_id: string;
  began_at: string;
  ended_at: string | null;
  outcome: string | null;
  source: string | null;
  repaired: boolean;
  attempts: number;
  description: string | null;
  to: string | null;
  exit: string | null;
  returned: boolean;
  turns: Array<VisitTurn>;
  commands: Array<VisitCommand>;
  questions: Array<VisitQuestion>;
  stills: Array<VisitStill>;
  notes: Array<VisitNote>;
  work_seconds: number;
  waited_seconds: number;
  still_seconds: number;
  cost_usd: number;
  tokens: TokensUsed;
}

/** A person's message to the running turn; ``uuid`` is that of the steer. */
export interface Words {
  uuid: string;
  text: string;
}

/** The next request sends the model what a person has written since the last one. */
export interface WordsAddedData {
  turn_id: string;
  words: Array<Words>;
}

/** A checkout of its own for one run. */
export interface Worktree {
  repository: string;
  directory: string;
  branch: string;
}

/** A worktree of a run, and what is in it. ``problem``: why that cannot be found out; a field that is not known is unset then. */
export interface WorktreeRow {
  directory: string;
  bytes: number | null;
  run_id: string | null;
  recipe?: string | null;
  params?: { [name: string]: string | number | boolean } | null;
  status?: string;
  started_at?: string;
  repository?: string;
  branch?: string;
  head?: string | null;
  uncommitted?: Array<string>;
  more?: number;
  commits?: number;
  merged?: boolean;
  merging?: boolean;
  problem: string | null;
}

/** The most turns and minutes of work; ``None``: nothing bounds them. */
export interface WorstCase {
  turns: number | null;
  minutes: number | null;
}

export interface Methods {
  "agents.list": { params: Nothing; result: Array<Agent> };
  "client.hello": { params: Hello; result: Greeting };
  "daemon.configuration": { params: Nothing; result: Configuration };
  "daemon.configure": { params: Configure; result: Configured };
  "daemon.ping": { params: Nothing; result: Pong };
  "daemon.reload": { params: Nothing; result: Reloaded };
  "daemon.shutdown": { params: Shutdown; result: Done };
  "daemon.status": { params: Nothing; result: DaemonStatus };
  "events.subscribe": { params: Subscribe; result: Subscribed };
  "gateway.devices": { params: Nothing; result: Array<Device> };
  "gateway.pair": { params: Pair; result: Pairing | Invitation };
  "gateway.revoke": { params: Revoke; result: Done };
  "gateway.scope": { params: Rescope; result: Done };
  "mcp.message": { params: ToolMessage; result: ToolReply };
  "questions.answer": { params: Answer; result: Question };
  "questions.list": { params: Nothing; result: Array<Question> };
  "recipes.check": { params: CheckRecipe; result: CheckReport };
  "recipes.get": { params: GetRecipe; result: KnownRecipe };
  "recipes.graph": { params: DrawRecipe; result: Drawing };
  "recipes.list": { params: InDirectory; result: Array<RecipeRow> };
  "recipes.outcome": { params: ParseOutcome; result: Accepted | Rejected };
  "recipes.paths": { params: GetRecipe; result: Paths };
  "recipes.rehearse": { params: Rehearse; result: StepPlay | PhasePlay };
  "recipes.simulate": { params: Simulate; result: Trace };
  "recipes.trust": { params: TrustRecipes; result: Array<TrustedRecipe> };
  "rpc.discover": { params: Nothing; result: { [name: string]: Json } };
  "runs.cancel": { params: OneRun; result: Run };
  "runs.diff": { params: DiffRun; result: Diff };
  "runs.events": { params: RunEvents; result: EventsPage };
  "runs.get": { params: OneRun; result: WholeRun };
  "runs.history": { params: ReadHistory; result: RunHistory };
  "runs.interrupt": { params: OneRun; result: Run };
  "runs.list": { params: ListRuns; result: Array<Run> };
  "runs.pause": { params: OneRun; result: Run };
  "runs.rename": { params: RenameRun; result: Run };
  "runs.resume": { params: OneRun; result: Run };
  "runs.start": { params: RunStart; result: Run };
  "runs.steer": { params: Steer; result: Steered };
  "sessions.compact": { params: OneSession; result: Done };
  "sessions.forget": { params: OneSession; result: Done };
  "sessions.get": { params: OneSession; result: Session };
  "sessions.interrupt": { params: OneSession; result: Done };
  "sessions.list": { params: ListSessions; result: SessionsPage };
  "sessions.locks": { params: Nothing; result: Array<Lock> };
  "sessions.messages": { params: SessionMessages; result: MessagesPage };
  "sessions.prompt": { params: Prompt; result: Went | Turn };
  "sessions.subscribe": { params: SessionMessages; result: MessagesPage };
  "sessions.unsubscribe": { params: OneSession; result: Done };
  "storage.prune": { params: Prune; result: Pruned };
  "storage.usage": { params: Nothing; result: StorageUsage };
  "voice.audio": { params: Audio; result: Taken };
  "voice.cancel": { params: OneUtterance; result: Done };
  "voice.end": { params: OneUtterance; result: Heard };
  "voice.hush": { params: Nothing; result: Done };
  "voice.install": { params: InstallModel; result: SpeechModel };
  "voice.models": { params: Nothing; result: Array<SpeechModel> };
  "voice.say": { params: Say; result: Spoken };
  "voice.start": { params: OpenMicrophone; result: Microphone };
  "voice.status": { params: Nothing; result: SpeechStatus };
  "voice.transcribe": { params: Transcribe; result: Transcribed };
  "voice.vocabulary": { params: FindTerms; result: Terms };
  "worktrees.list": { params: Nothing; result: Array<WorktreeRow> };
  "worktrees.merge": { params: OneRun; result: Merged };
  "worktrees.remove": { params: RemoveWorktree; result: Removed };
}

export interface Notifications {
  "daemon.stopping": Stopping;
  "event": Event;
  "feed.closed": FeedClosed;
  "run.event": Event;
  "session.messages": NewMessages;
  "voice.partial": Partial;
  "voice.progress": Progress;
}

export interface EventData {
  "action.ended": ActionEndedData;
  "action.intended": ActionIntendedData;
  "aside.noted": AsideNotedData;
  "check.ended": CheckEndedData;
  "claim.made": ClaimMadeData;
  "command.ended": CommandEndedData;
  "command.intended": CommandIntendedData;
  "edge.taken": EdgeTakenData;
  "effect.ended": EffectEndedData;
  "hook.ended": HookEndedData;
  "limit.hit": LimitHitData;
  "loop.ended": LoopEndedData;
  "loop.started": LoopStartedData;
  "message.received": MessageReceivedData;
  "outcome.invalid": OutcomeInvalidData;
  "outcome.parsed": OutcomeParsedData;
  "progress.stalled": ProgressStalledData;
  "question.closed": QuestionClosedData;
  "question.opened": QuestionOpenedData;
  "reply.received": ReplyReceivedData;
  "run.ended": RunEndedData;
  "run.parked": RunParkedData;
  "run.paused": RunPausedData;
  "run.renamed": RunRenamedData;
  "run.resumed": RunResumedData;
  "run.started": RunStartedData;
  "session.named": SessionNamedData;
  "snapshot": Snapshot;
  "steer.intended": SteerIntendedData;
  "step.entered": StepEnteredData;
  "stop.intended": StopIntendedData;
  "tool.used": ToolUsedData;
  "tree.seen": TreeSeenData;
  "turn.ended": TurnEndedData;
  "turn.intended": TurnIntendedData;
  "turn.output": TurnOutput;
  "turn.started": TurnStartedData;
  "words.added": WordsAddedData;
}
