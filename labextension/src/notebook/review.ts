import { ISignal, Signal } from '@lumino/signaling';

import { ApiError } from '../api';
import type { FollowedRun } from '../followed';
import type { DecisionReply, Question } from '../types';

/** The cell that shows a waiting program. */
export interface IProgramCell {
  /** What the cell holds now; null where the notebook does not have it. */
  source(): string | null;
  /** Put a text into it that a person's undo leaves alone. */
  put(source: string): void;
  /** Let a person edit it, or no longer. */
  setEditable(editable: boolean): void;
  /** Put the cursor into it. */
  enter(): void;
}

/** The part of a followed run that decisions go through. */
export type DecidingRun = Pick<FollowedRun, 'run' | 'decide'>;

/**
 * The review of one waiting program in its cell. It outlives the cell's widget, which a windowed notebook, a change of
 * the cell's type or reading the file again makes anew: what a person has begun to write stays.
 *
 * Only methods of this object decide, and only the card's own buttons call them.
 */
export class CellReview {
  mode: 'look' | 'edit' | 'reject' = 'look';
  reason = '';
  /** Whether the person has said that they have read a program of high risk. */
  read = false;

  constructor(
    private readonly run: DecidingRun,
    private readonly cell: IProgramCell,
    private _question: Question,
    private readonly words: IReviewWords
  ) {}

  get question(): Question {
    return this._question;
  }

  /** A decision is on its way. */
  get busy(): boolean {
    return this._busy;
  }

  /** Why the last one did not count. */
  get error(): ApiError | null {
    return this._error;
  }

  /** Nothing waits here any more; what stays is what the person is to be told. */
  get gone(): boolean {
    return this._gone;
  }

  /** Whether there is nothing left to show. */
  get over(): boolean {
    return this._gone && this._error === null && !this._busy;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Whether the cell shows, byte for byte but for the ends of lines, the program that would run. */
  get isShown(): boolean {
    const source = this.cell.source();
    return source !== null && unix(source) === unix(this._question.code.exact);
  }

  /** What the server asks now about this candidate; null where it asks nothing any more. */
  update(question: Question | null): void {
    if (question === null) {
      if (!this._gone && this.mode === 'edit' && !this._busy) {
        this._error = new ApiError(409, { message: this.words.decidedWhileEditing });
      }
      this._gone = true;
      this.mode = 'look';
    } else if (question.nonce !== this._question.nonce || question.code.sha256 !== this._question.code.sha256) {
      this._question = question;
      this._gone = false;
      this.read = false;
    } else {
      return;
    }
    this._changed.emit();
  }

  set(change: Partial<Pick<CellReview, 'mode' | 'reason' | 'read'>>): void {
    Object.assign(this, change);
    this._changed.emit();
  }

  dismiss(): void {
    this._error = null;
    this._changed.emit();
  }

  async approve(): Promise<void> {
    if (this.isShown) {
      await this.send(() => this.run.decide(this._question, 'approve'));
    } else {
      this.refuse(this.words.notShown);
    }
  }

  async reject(): Promise<void> {
    await this.send(() => this.run.decide(this._question, 'reject', this.reason));
  }

  edit(): void {
    if (!this.isShown) {
      this.refuse(this.words.notShown);
      return;
    }
    this.set({ mode: 'edit' });
    this.cell.setEditable(true);
    this.cell.enter();
  }

  discard(): void {
    this.set({ mode: 'look' });
    this.cell.put(this._question.code.exact);
    this.cell.setEditable(false);
  }

  /** What was edited becomes a program of the person's; the cell shows again what was proposed. */
  async approveEdit(): Promise<void> {
    const edited = this.cell.source();
    if (edited === null || this._busy) {
      return;
    }
    if (!edited.trim() || unix(edited) === unix(this._question.code.exact)) {
      this.refuse(this.words.notEdited);
      return;
    }
    this.cell.put(this._question.code.exact);
    this.cell.setEditable(false);
    const counted = await this.send(() => this.run.decide(this._question, 'edit', '', edited));
    if (!counted && !this._gone) {
      this.cell.put(edited);
      this.cell.setEditable(true);
    }
  }

  /** One at a time: a second click while the first is on its way does nothing. */
  private async send(decide: () => Promise<DecisionReply>): Promise<boolean> {
    if (this._busy || this._gone) {
      return false;
    }
    this._busy = true;
    this._error = null;
    this._changed.emit();
    try {
      await decide();
      this._gone = true;
      return true;
    } catch (error) {
      this._error = error instanceof ApiError ? error : new ApiError(0, { message: String(error) });
      return false;
    } finally {
      this._busy = false;
      this._changed.emit();
    }
  }

  private refuse(message: string): void {
    this._error = new ApiError(409, { message });
    this._changed.emit();
  }

  private _busy = false;
  private _gone = false;
  private _error: ApiError | null = null;
  private readonly _changed = new Signal<this, void>(this);
}

/** What a review says by itself. */
export interface IReviewWords {
  notShown: string;
  notEdited: string;
  decidedWhileEditing: string;
}

const unix = (text: string): string => text.replace(/\r\n?/g, '\n');
