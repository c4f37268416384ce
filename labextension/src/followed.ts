import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { Api, ApiError } from './api';
import { Live } from './live';
import { Pace } from './pace';
import type {
  CandidateView,
  ControlReply,
  ControlRequest,
  DecisionReply,
  Node,
  Point,
  Question,
  Questions,
  RunState,
  ServerMessage
} from './types';

/** Milliseconds between two fetches of a state, at least: a run can append many records in one. */
const PACE = 200;
/** Milliseconds until the next look where the socket cannot tell: while it is lost, and before a run has records. */
const LOOK_AGAIN = 3000;
const LOOK_AT_PREPARING = 700;
/** Characters of running output that a page keeps of one program. */
const KEPT = 200000;
/** Candidates of which all is kept. */
const REMEMBERED = 40;

/** The end of what a running program has printed. */
export interface IRunningOutput {
  text: string;
  /** Whether something before it was left out. */
  cut: boolean;
  /** When the last of it came, in milliseconds of this page's clock. */
  at: number;
}

/** One run as this page follows it: its state, its questions, its running output. */
export class FollowedRun implements IDisposable {
  constructor(
    readonly api: Api,
    readonly run: string
  ) {
    this.live = new Live(api, run);
    this.live.message.connect(this.onMessage, this);
    this.live.connectedChanged.connect(this.onConnected, this);
    this.refresh();
  }

  readonly live: Live;

  /** Null until it has come. */
  get state(): RunState | null {
    return this._state;
  }

  /** The programs that wait for a person, oldest first; null until they have been fetched. */
  get questions(): Questions | null {
    return this._questions;
  }

  /** Why the last fetch failed; null where it did not. */
  get error(): ApiError | null {
    return this._error;
  }

  /** State, questions or error are others now. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** A program has printed something: its candidate. */
  get printed(): ISignal<this, string> {
    return this._printed;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Run time in seconds: what the server said, and what has gone by since while the run is under way. */
  elapsed(): number {
    if (this._state === null) {
      return 0;
    }
    const since = this._state.ticking ? (performance.now() - this._received) / 1000 : 0;
    return this._state.elapsed_seconds + since;
  }

  output(candidate: string): IRunningOutput | undefined {
    return this._outputs.get(candidate);
  }

  node(candidate: string): Node | undefined {
    return this._state?.nodes.find(node => node.id === candidate);
  }

  /** All about a candidate, as of the last record about it. */
  candidate(id: string): Promise<CandidateView> {
    const key = `${id}@${this.node(id)?.changed ?? -1}`;
    const known = this._candidates.get(key);
    if (known !== undefined) {
      return known;
    }
    const asked = this.api.candidate(this.run, id);
    this._candidates.set(key, asked);
    asked.catch(() => this._candidates.delete(key));
    for (const old of this._candidates.keys()) {
      if (this._candidates.size <= REMEMBERED) {
        break;
      }
      this._candidates.delete(old);
    }
    return asked;
  }

  /** Answer a question. What is sent names the hashes that the question was shown with. */
  async decide(
    question: Question,
    decision: 'approve' | 'edit' | 'reject',
    reason = '',
    edited?: string
  ): Promise<DecisionReply> {
    try {
      return await this.api.decide(this.run, {
        candidate: question.candidate,
        nonce: question.nonce,
        code: question.code.sha256,
        data: question.data,
        purposes: question.purposes,
        decision,
        reason,
        ...(edited === undefined ? {} : { edited_code: edited })
      });
    } finally {
      this._askAgain = true;
      this.refresh();
    }
  }

  async control(request: ControlRequest): Promise<ControlReply> {
    try {
      return await this.api.control(this.run, request);
    } finally {
      this.refresh();
    }
  }

  /** Fetch what is new, soon; calls in between are one. */
  refresh(): void {
    this._pace.ask();
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._pace.dispose();
    this.live.dispose();
    Signal.clearData(this);
  }

  private async fetch(): Promise<void> {
    try {
      const known = this._state;
      const reply = await this.api.state(this.run, known && known.seq >= 0 ? known.seq : undefined);
      this._received = performance.now();
      const state = known && reply.partial ? joined(known, reply) : reply;
      const asked = this._askAgain || !same(known?.waiting, state.waiting) || known?.owner !== state.owner;
      if (asked) {
        this._questions = state.waiting.length ? await this.api.questions(this.run) : null;
        this._askAgain = false;
      }
      this._state = state;
      this._error = null;
    } catch (error) {
      this._error = error instanceof ApiError ? error : new ApiError(0, { message: String(error) });
    }
    if (!this._disposed) {
      this._changed.emit();
    }
  }

  /** Look again by the clock only where the socket would not tell. */
  private idle(): number | null {
    if (this._state?.phase === 'preparing') {
      return LOOK_AT_PREPARING;
    }
    return this.live.connected && !this._error ? null : LOOK_AGAIN;
  }

  private onConnected(_: Live, connected: boolean): void {
    // A server that was started again has other nonces, and has told nothing of what came meanwhile.
    this._askAgain = true;
    if (connected) {
      this.refresh();
    } else {
      this._changed.emit();
      this._pace.wait();
    }
  }

  private onMessage(_: Live, message: ServerMessage): void {
    if (message.type === 'head') {
      if (this._state === null || message.seq !== this._state.seq || message.phase !== this._state.phase) {
        this.refresh();
      }
    } else if (message.type === 'output') {
      const known = this._outputs.get(message.candidate);
      const follows = known !== undefined && this._ends.get(message.candidate) === message.offset;
      const text = (follows ? known.text : '') + message.text;
      this._outputs.set(message.candidate, {
        text: text.slice(-KEPT),
        cut: text.length > KEPT || (follows ? known.cut : message.offset > 0),
        at: performance.now()
      });
      this._ends.set(message.candidate, message.end);
      this._printed.emit(message.candidate);
    }
  }

  private _state: RunState | null = null;
  private _questions: Questions | null = null;
  private _error: ApiError | null = null;
  private _received = 0;
  private _askAgain = true;
  private _disposed = false;
  private readonly _pace = new Pace(
    () => this.fetch(),
    PACE,
    () => this.idle()
  );
  private readonly _outputs = new Map<string, IRunningOutput>();
  private readonly _ends = new Map<string, number>();
  private readonly _candidates = new Map<string, Promise<CandidateView>>();
  private readonly _changed = new Signal<this, void>(this);
  private readonly _printed = new Signal<this, string>(this);
}

/** A reply with only what changed, put into what is known: nodes by id, points behind or in place of the same id. */
function joined(known: RunState, reply: RunState): RunState {
  return { ...reply, nodes: merged<Node>(known.nodes, reply.nodes), points: merged<Point>(known.points, reply.points) };
}

function merged<T extends { id: string }>(known: T[], changed: T[]): T[] {
  if (!changed.length) {
    return known;
  }
  const places = new Map(known.map((one, place) => [one.id, place]));
  const all = [...known];
  for (const one of changed) {
    const place = places.get(one.id);
    if (place === undefined) {
      all.push(one);
    } else {
      all[place] = one;
    }
  }
  return all;
}

function same(one: readonly string[] | undefined, other: readonly string[]): boolean {
  return one !== undefined && one.length === other.length && one.every((value, place) => value === other[place]);
}
