/* Generated from aide_jupyter/server/models by `npm run types`. Change it there. */

export type JsonValue = unknown;
export type ControlRequest = Simple | Hint | SwitchMode | Branch | Propose;
export type PageMessage = OpenMessage | TakeMessage | CloseMessage | WrittenMessage;
export type ServerMessage = OutputMessage | LeaseMessage | HeadMessage;

/**
 * The best candidate and where its number comes from.
 */
export interface Best {
  id: string;
  value: number;
  value_text: string;
  metric: string;
  source: 'final' | 'selection' | 'reported';
  source_words: string;
}
/**
 * Text or bytes too long for a record, kept under ``blobs/<sha256>`` in the run's folder.
 */
export interface BlobRef {
  sha256: string;
  bytes: number;
}
/**
 * The next candidate is to be made from this one. ``hint`` is told to the author.
 */
export interface Branch {
  verb: 'branch';
  candidate: string;
  hint?: string;
}
/**
 * ``GET runs/<id>/candidates/<cid>``: all about one candidate. ``seq`` is the record up to which this is so.
 */
export interface CandidateView {
  run: string;
  seq: number;
  node: Node;
  headline: string;
  plan_shown: string;
  error_shown: string;
  code: Code | null;
  parent_code: Code | null;
  parent_words: string;
  flags: FlagView[];
  taints: string[];
  observed: ObservedView | null;
  claimed: ClaimedView | null;
  grade: GradeView | null;
  final: GradeView | null;
  review: ReviewerView | null;
  provenance: Provenance;
  facts: Fact[];
}
/**
 * A candidate in the tree. ``number`` counts from 1 in the order of ``chosen``; ``changed`` is the record at which
 * something about this node last changed. ``dangers`` counts the flags that are dangers.
 */
export interface Node {
  id: string;
  number: number;
  parent: string | null;
  depth: number;
  operator: 'draft' | 'debug' | 'improve' | 'ensemble';
  standing:
    | 'chosen'
    | 'proposed'
    | 'waiting'
    | 'approved'
    | 'running'
    | 'finished'
    | 'good'
    | 'failed'
    | 'rejected'
    | 'edited'
    | 'no program';
  status_words: string;
  value: number | null;
  value_text: string;
  source: ('final' | 'selection' | 'reported') | null;
  best: boolean;
  failed: boolean;
  flags: number;
  dangers: number;
  tainted: boolean;
  edit_of: string | null;
  by_person: boolean;
  plan_line: string;
  seconds: number | null;
  changed: number;
}
/**
 * A program, byte for byte, with what an eye would miss in it.
 */
export interface Code {
  sha256: string;
  exact: string;
  hidden: HiddenCharacters[];
}
/**
 * A line of code with characters that cannot be seen, or pass for others. ``shown`` has them as escapes.
 */
export interface HiddenCharacters {
  line: number;
  shown: string;
}
/**
 * A reason to look. ``line`` is 0 for the whole program.
 */
export interface FlagView {
  rule: string;
  line: number;
  message: string;
  severity: 'note' | 'danger';
}
/**
 * What the server saw for itself.
 */
export interface ObservedView {
  status: string;
  seconds: number;
  peak_memory_bytes: number;
  limit: string | null;
  exit: number | null;
  output_bytes: number;
  files: Fact[];
  facts: Fact[];
}
/**
 * A line of a table: a name in this package's words, and a value as text.
 */
export interface Fact {
  name: string;
  shown: string;
}
/**
 * What came out of the kernel, all of which a program can forge.
 */
export interface ClaimedView {
  reply: string;
  metric: number | null;
  metric_text: string;
  truncated_bytes: number;
  masks: number;
  outputs: OutputView[];
}
/**
 * One output as it was recorded: a claim of the program. ``image`` is a blob with a checked PNG.
 */
export interface OutputView {
  type: 'stream' | 'text' | 'error' | 'image';
  name: string;
  shown: string;
  image: string | null;
  image_bytes: number;
}
/**
 * A number, or why there is none.
 */
export interface GradeView {
  value: number | null;
  words: string;
  source: 'final' | 'selection' | 'reported';
  interval: unknown[] | null;
  error: string;
}
/**
 * What the reviewer model made of it: a model's claim.
 */
export interface ReviewerView {
  failed: boolean;
  shown: string;
  by: string;
}
/**
 * Who wrote it, what that used, who decided, when and why.
 */
export interface Provenance {
  author: string;
  author_kind: 'user' | 'agent' | 'policy' | 'system' | 'unknown';
  model: string;
  chosen_by: string;
  proposed_at: string;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number | null;
  unknown_cost_calls: number;
  cost_words: string;
  decision: ('approve' | 'edit' | 'reject') | null;
  decided_by: string;
  decided_by_kind: 'user' | 'agent' | 'policy' | 'system' | 'unknown';
  decided_at: string;
  decided_mode: ('every' | 'flagged' | 'auto') | null;
  decided_purposes: ('search' | 'rescore' | 'refit' | 'export')[];
  reason_shown: string;
}
/**
 * A number of the form: what it is unless set, and the administrator's cap (None: none).
 */
export interface Cap {
  name: 'steps' | 'workers' | 'timeout' | 'max_time' | 'max_tokens' | 'max_cost' | 'memory';
  default: number | null;
  cap: number | null;
  unit: string;
}
/**
 * ``GET runs/<id>/cells?after=``: the whole of each agent cell that changed since, the order of all, and the
 * notebook's metadata, as nbformat 4.5 has them.
 */
export interface Cells {
  run: string;
  head: Head;
  metadata: {
    [k: string]: JsonValue;
  };
  order: string[];
  cells: {
    [k: string]: JsonValue;
  }[];
  closed: boolean;
}
/**
 * The last record that a reply tells of.
 */
export interface Head {
  seq: number;
  hash: string;
}
/**
 * One thing that doctor looked at.
 */
export interface CheckView {
  name: string;
  ok: boolean;
  detail: string;
  advice: string;
}
/**
 * A value of a choice, and its label.
 */
export interface Choice {
  value: string;
  label: string;
  description: string;
}
/**
 * The page has closed the notebook.
 */
export interface CloseMessage {
  type: 'close';
}
/**
 * A column: its exact name, to send back, and the same to show.
 */
export interface Column {
  exact: string;
  shown: string;
}
/**
 * ``GET columns?path=``. ``target`` is the column that is plainly to be predicted, None where that is not plain.
 */
export interface Columns {
  path: string;
  tables: Table[];
  target: string | null;
}
/**
 * A table of the data folder.
 */
export interface Table {
  shown: string;
  columns: Column[];
}
/**
 * What was done. ``candidate`` is the one that branch and propose have begun.
 */
export interface ControlReply {
  run: string;
  phase:
    'preparing' | 'failed' | 'running' | 'waiting' | 'paused' | 'interrupted' | 'closed' | 'missing' | 'unreadable';
  words: string;
  candidate: string | null;
}
/**
 * Pause, resume (also of a run that nobody works at), stop, or stop at once.
 */
export interface Simple {
  verb: 'pause' | 'resume' | 'stop' | 'stop-now';
}
/**
 * A person's words for the next steps.
 */
export interface Hint {
  verb: 'hint';
  text: string;
}
/**
 * Another review mode.
 */
export interface SwitchMode {
  verb: 'mode';
  mode: 'every' | 'flagged' | 'auto';
}
/**
 * A candidate of one's own, approved by the act of sending it.
 */
export interface Propose {
  verb: 'propose';
  plan?: string;
  code: string;
  parent?: string | null;
}
/**
 * The decision that stands: the one sent, or the same one sent before.
 */
export interface DecisionReply {
  candidate: string;
  decision: 'approve' | 'edit' | 'reject';
  by: string;
  words: string;
}
/**
 * ``POST runs/<id>/decisions``: an answer to one question of ``GET runs/<id>/reviews``, which gave every hash.
 */
export interface DecisionRequest {
  candidate: string;
  nonce: string;
  code: string;
  data: string;
  purposes: ('search' | 'rescore' | 'refit' | 'export')[];
  decision: 'approve' | 'edit' | 'reject';
  reason?: string;
  edited_code?: string | null;
}
/**
 * ``GET doctor`` (as last looked), ``POST doctor`` (looks again).
 */
export interface Doctor {
  ok: boolean;
  words: string;
  at: string;
  checks: CheckView[];
}
/**
 * Any answer that is no success. ``decided`` says who decided before (409).
 */
export interface ErrorReply {
  message: string;
  advice?: string;
  reason?: string;
}
/**
 * ``POST runs/<id>/export``: write the best program as a notebook. Without ``path`` beside the audit notebook.
 */
export interface ExportRequest {
  path?: string | null;
}
/**
 * ``POST runs/<id>/export``: where the solution is.
 */
export interface Exported {
  path: string;
  words: string;
}
/**
 * ``GET form``: what a new run can be asked for here, within the administrator's caps.
 */
export interface Form {
  version: string;
  modes: Choice[];
  default_mode: 'every' | 'flagged' | 'auto';
  previews: Choice[];
  default_preview: ('schema' | 'statistics' | 'samples') | 'off';
  policies: string[];
  metrics: Choice[];
  numbers: Cap[];
  default_model: string;
  runs_folder: string;
  data_words: string;
  user: string;
}
/**
 * There is more to fetch: the run has come to this record, or another phase.
 */
export interface HeadMessage {
  type: 'head';
  seq: number;
  phase:
    'preparing' | 'failed' | 'running' | 'waiting' | 'paused' | 'interrupted' | 'closed' | 'missing' | 'unreadable';
}
/**
 * Who writes the notebook. ``granted``: this page; it sends ``epoch`` back with what it has written. ``held``: it
 * shows and does not write. ``revoked``: it did, and may no more. ``refused``: this file is not the run's notebook.
 *
 * ``reconcile``: before writing, put the file and the page together (an older epoch may have written meanwhile).
 */
export interface LeaseMessage {
  type: 'lease';
  state: 'granted' | 'held' | 'revoked' | 'refused';
  epoch: number;
  path: string;
  words: string;
  reconcile: boolean;
}
/**
 * Something used against its cap, as numbers and in words. ``limit`` is None where none is set.
 */
export interface Meter {
  name: 'steps' | 'time' | 'tokens' | 'money';
  label: string;
  used: number;
  limit: number | null;
  words: string;
  reached: boolean;
}
/**
 * A model that a run can use. ``ready`` says that it could be called; ``advice`` what to set where it could not.
 */
export interface ModelView {
  name: string;
  provider: string;
  ready: boolean;
  price_known: boolean;
  price_words: string;
  advice: string;
  recommended: boolean;
}
/**
 * ``GET models``; with ``?name=`` what is known of that one. ``any_allowed``: a name may be typed freely.
 */
export interface Models {
  models: ModelView[];
  providers: Provider[];
  any_allowed: boolean;
  allowed_words: string;
}
/**
 * A well-known provider, and whether its key is set.
 */
export interface Provider {
  name: string;
  ready: boolean;
  variable: string;
  advice: string;
  prefix: string;
}
/**
 * The page has opened the run's notebook, at this path (again, after a rename).
 */
export interface OpenMessage {
  type: 'open';
  path: string;
}
/**
 * Running output of a program, masked. ``offset`` and ``end`` count characters of its whole output: text between
 * two messages that do not meet was skipped, since the page was too slow for it.
 */
export interface OutputMessage {
  type: 'output';
  candidate: string;
  offset: number;
  end: number;
  text: string;
}
/**
 * Continue here: the page wants to be the one that writes.
 */
export interface TakeMessage {
  type: 'take';
}
/**
 * The page has saved the notebook, which now shows the run up to this record.
 */
export interface WrittenMessage {
  type: 'written';
  seq: number;
  hash: string;
  epoch: number;
}
/**
 * A number of the score over time. ``best`` is the best number of good candidates so far; None before the first.
 */
export interface Point {
  id: string;
  number: number;
  value: number;
  best: number | null;
  source: 'final' | 'selection' | 'reported';
  good: boolean;
}
/**
 * A program that waits for a person: what it is, why they are asked, and what an approval covers.
 *
 * ``compared_with`` is the program that a diff shows at its left: the parent's. ``plan_shown`` is the model's claim.
 * ``high_risk`` cards look different. ``capabilities`` says what the program will be able to do.
 */
export interface Question {
  candidate: string;
  nonce: string;
  data: string;
  purposes: ('search' | 'rescore' | 'refit' | 'export')[];
  purposes_words: string;
  why: string;
  high_risk: boolean;
  flags: FlagView[];
  taints: string[];
  code: Code;
  compared_with: string | null;
  compared_code: Code | null;
  plan_shown: string;
  capabilities: Fact[];
  asked_at: string;
  cell: string;
}
/**
 * ``GET runs/<id>/reviews``, oldest first. ``elsewhere`` says where a run of another process is answered.
 */
export interface Questions {
  run: string;
  seq: number;
  questions: Question[];
  elsewhere: string;
  pace: string;
}
/**
 * A record for the audit view. ``data`` is its body as it stands in the journal; ``shown`` says it in a line.
 */
export interface RecordView {
  seq: number;
  time: string;
  kind: string;
  who: string;
  candidate: string;
  shown: string;
  data: {
    [k: string]: JsonValue;
  };
  hash: string;
}
/**
 * ``GET runs/<id>/records?after=&limit=``. ``more`` says that there are further ones.
 */
export interface Records {
  run: string;
  records: RecordView[];
  more: boolean;
}
/**
 * Something that happened to the run itself.
 */
export interface RunEvent {
  time: string;
  who: string;
  shown: string;
}
/**
 * ``GET runs``, newest first.
 */
export interface RunList {
  version: string;
  runs: RunSummary[];
}
/**
 * A row of the list of runs.
 */
export interface RunSummary {
  run: string;
  title: string;
  phase:
    'preparing' | 'failed' | 'running' | 'waiting' | 'paused' | 'interrupted' | 'closed' | 'missing' | 'unreadable';
  phase_words: string;
  owner: 'server' | 'elsewhere' | 'nobody';
  created: string;
  steps: number;
  steps_max: number;
  best: Best | null;
  waiting: number;
  folder: string;
  notebook: string | null;
  actions: ('pause' | 'resume' | 'stop' | 'stop-now' | 'hint' | 'mode' | 'branch' | 'propose')[];
  problem: string;
}
/**
 * ``POST runs``: the run's id. Its state tells how preparing it gets on.
 */
export interface RunStarted {
  run: string;
}
/**
 * ``GET runs/<id>/state?after=``: the run as its records tell it.
 *
 * ``nodes`` are all candidates in order, ``points`` all numbers in the order in which they came; with ``after`` only
 * those that changed since that record, and ``partial`` is True: the page puts them in by ``id``.
 * ``elapsed_seconds`` is run time at the moment of the reply and goes on by the clock while ``ticking``.
 */
export interface RunState {
  version: string;
  run: string;
  seq: number;
  hash: string;
  title: string;
  phase:
    'preparing' | 'failed' | 'running' | 'waiting' | 'paused' | 'interrupted' | 'closed' | 'missing' | 'unreadable';
  phase_words: string;
  preparing: string;
  owner: 'server' | 'elsewhere' | 'nobody';
  owner_words: string;
  actions: ('pause' | 'resume' | 'stop' | 'stop-now' | 'hint' | 'mode' | 'branch' | 'propose')[];
  goal: string;
  evaluation: string;
  facts: Fact[];
  mode: 'every' | 'flagged' | 'auto';
  modes: ('every' | 'flagged' | 'auto')[];
  metric: string;
  direction: ('minimize' | 'maximize') | null;
  direction_words: string;
  elapsed_seconds: number;
  ticking: boolean;
  meters: Meter[];
  calls: number;
  unknown_cost_calls: number;
  best: Best | null;
  partial: boolean;
  nodes: Node[];
  candidates: number;
  failed: number;
  points: Point[];
  waiting: string[];
  hints: string[];
  limits_reached: string[];
  problems: string[];
  events: RunEvent[];
  folder: string;
  notebook: string | null;
  key: string;
  created: string;
  closed_why: string;
  report: string | null;
  solution: string | null;
}
/**
 * ``POST runs``. The options of ``jupyter aide run`` by their names; None is as if it had not been given.
 *
 * With ``example`` the data, goal, metric and target are the example's; everything else still counts.
 */
export interface StartRun {
  example?: boolean;
  data?: string | null;
  goal?: string | null;
  eval?: string | null;
  metric?: string | null;
  minimize?: boolean | null;
  maximize?: boolean | null;
  target?: string | null;
  id?: string | null;
  group?: string | null;
  time?: string | null;
  known?: string[] | null;
  model?: string | null;
  temperature?: number | null;
  feedback_model?: string | null;
  feedback_temperature?: number | null;
  report_model?: string | null;
  report_temperature?: number | null;
  base_url?: string | null;
  price?: unknown[] | null;
  policy?: string | null;
  preview?: ('off' | 'schema' | 'statistics' | 'samples') | null;
  steps?: number | null;
  workers?: number | null;
  review?: ('every' | 'flagged' | 'auto') | null;
  timeout?: number | null;
  max_time?: number | null;
  max_tokens?: number | null;
  max_cost?: number | null;
  memory?: number | null;
  seed?: number | null;
  folds?: number | null;
  drafts?: number | null;
  debug_probability?: number | null;
  debug_depth?: number | null;
  expose_prediction?: boolean | null;
  generate_report?: boolean | null;
}
/**
 * ``GET runs/<id>/verify`` and ``GET verify?path=``.
 */
export interface VerifyReply {
  code: 0 | 1 | 2 | 3;
  verdict: 'intact' | 'altered' | 'not closed' | 'not anchored';
  words: string;
  run: string;
  records: number;
  first_bad: number | null;
  problems: string[];
  lines: string[];
  key: string;
}
/**
 * ``GET version``. ``version`` is the package's; a page built for another one says so.
 */
export interface Version {
  version: string;
}
