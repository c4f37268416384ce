import type { ISharedCell } from '@jupyter/ydoc';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import type { PartialJSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { IAgentCell, isHead, missing, setMetadata, statusOf, upsert } from './notebook/cells';
import { differ, Own, ownOf, putBack } from './notebook/own';
import type { Cells, LeaseMessage, PageMessage, ServerMessage } from './types';

/** Milliseconds between two saves, at least. */
export const SAVE_EVERY = 3000;
/** Milliseconds until the next try after something failed. */
const TRY_AGAIN = 3000;
const TRY_SAVING_AGAIN = 60000;
/** Where a candidate has got to before anything about it needs to be in the file. */
const UNDER_WAY = new Set(['chosen', 'proposed', 'waiting', 'running']);

/** A run, as its notebook needs it. */
export interface IWrittenRun {
  readonly run: string;
  readonly live: {
    readonly connected: boolean;
    readonly message: ISignal<unknown, ServerMessage>;
    readonly connectedChanged: ISignal<unknown, boolean>;
    send(message: PageMessage): boolean;
  };
  readonly api: { cells(run: string, after?: number): Promise<Cells> };
}

/** The open notebook, as the page has it. */
export type WrittenContext = DocumentRegistry.IContext<INotebookModel>;

/** What the writer asks of the page around it. */
export interface IPage {
  /** The file as it is now, without its content, with its hash. */
  stat(path: string): Promise<Contents.IModel>;
  /** The ids of cells that a person edits now, to be answered with what was edited. */
  editing(): ReadonlySet<string>;
  /** Change cells so that what is in sight stays where it is. */
  still<T>(change: () => T): T;
  /** Read the notebook from its file again, which makes all its cells anew, and put focus and cursor back. */
  anew(change: () => Promise<void>): Promise<void>;
}

/**
 * - `opening`: the server has not said yet who writes.
 * - `writing`: this page does.
 * - `held`: another one does; `revoked`: another one does, and this one did.
 * - `refused`: this file is not the run's notebook, or this person may only look.
 */
export type WriterState = 'opening' | 'writing' | 'held' | 'revoked' | 'refused';

/**
 * Keeps one open notebook up with its run while this page holds the lease, and asks for the lease.
 *
 * Cells are put in through the shared model, by id, and saved after what matters; the person's own cells are never
 * touched. Where the file may have been written by somebody else, page and file are put together first.
 */
export class NotebookWriter implements IDisposable {
  constructor(
    private readonly run: IWrittenRun,
    private readonly context: WrittenContext,
    private readonly page: IPage
  ) {
    this._base = this.own();
    // A person's own save, and JupyterLab's by the clock, are to keep to the lease too, and two at once would have
    // JupyterLab find that the file has changed.
    this._plainSave = context.save.bind(context);
    context.save = () => this.saveByLease();
    run.live.message.connect(this.onMessage, this);
    run.live.connectedChanged.connect(this.onConnected, this);
    context.pathChanged.connect(this.open, this);
    context.saveState.connect(this.onSaveState, this);
    context.fileChanged.connect(this.onFileChanged, this);
    context.model.contentChanged.connect(this.onContentChanged, this);
    context.disposed.connect(this.dispose, this);
    window.addEventListener('pagehide', this._leave);
    window.addEventListener('beforeunload', this._warn);
    this.open();
  }

  get state(): WriterState {
    return this._state;
  }

  /** What the server said about it, in words; empty where there is nothing to say. */
  get words(): string {
    return this._words;
  }

  get connected(): boolean {
    return this.run.live.connected;
  }

  /** Whether there is a room in which this page is live all the same, whoever writes. */
  get collaborative(): boolean {
    return this.context.model?.collaborative ?? false;
  }

  /** Whether the person has typed something here that only they can save, by continuing here. */
  get unsaved(): boolean {
    return this._unsaved;
  }

  /** State, words or connection are others now. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Continue here: this page is to be the one that writes. */
  take(): void {
    this._take = !this.run.live.send({ type: 'take' });
  }

  /** A cell is no longer edited, or something else is to be looked at again. */
  refresh(): void {
    this._known = -1;
    void this.work();
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this.context.save = this._plainSave;
    window.clearTimeout(this._timer);
    window.removeEventListener('pagehide', this._leave);
    window.removeEventListener('beforeunload', this._warn);
    this._leave();
    Signal.disconnectReceiver(this);
    Signal.clearData(this);
  }

  // --- the lease

  private open(): void {
    this.run.live.send({ type: 'open', path: this.context.localPath });
    if (this._take) {
      this.take();
    }
  }

  private onConnected(_: unknown, connected: boolean): void {
    if (connected) {
      this.open();
    }
    this._changed.emit();
  }

  private onMessage(_: unknown, message: ServerMessage): void {
    if (message.type === 'lease') {
      this.onLease(message);
    } else if (message.type === 'head') {
      this._head = message.seq;
      void this.work();
    }
  }

  private onLease(message: LeaseMessage): void {
    const granted = message.state === 'granted';
    if (granted && (message.reconcile || message.epoch !== this._epoch)) {
      this._reconcile = true;
    }
    if (this._state === 'writing' && !granted) {
      this.stop();
    }
    this._epoch = message.epoch;
    this._state = message.state === 'granted' ? 'writing' : message.state;
    this._words = message.words;
    this._changed.emit();
    void this.work();
  }

  /** Another page writes now. What the person typed here is kept, but neither saved over the other's nor asked about
   * by JupyterLab's autosave, which knows nothing of leases. */
  private stop(): void {
    window.clearTimeout(this._timer);
    this._save = false;
    if (!this.context.model.collaborative) {
      this._unsaved = differ(this._base, this.own());
      this.context.model.dirty = false;
    }
  }

  /** The first thing that a person changes in a page that does not write moves the lease to it. */
  private onContentChanged(): void {
    const away = this._state === 'held' || this._state === 'revoked';
    if (!away || this._mine || this.context.model.collaborative || !differ(this._base, this.own())) {
      return;
    }
    this._unsaved = true;
    this.take();
  }

  // --- the work, one thing after the other

  private async work(): Promise<void> {
    this._again = true;
    if (this._working) {
      return;
    }
    this._working = true;
    try {
      while (this._again && this._state === 'writing' && !this._disposed) {
        this._again = false;
        await this.step(this._epoch);
      }
    } catch {
      // The server is away, or the file cannot be written. Both are said elsewhere; here it is tried again.
      this.later(TRY_AGAIN);
    } finally {
      this._working = false;
    }
  }

  private async step(epoch: number): Promise<void> {
    if (this._reconcile) {
      await this.alone(() => this.reconcile());
      if (!this.may(epoch)) {
        return;
      }
      this._reconcile = false;
      this._known = -1;
    }
    if (this._known < this._head) {
      this._known = this._touched ? -1 : this._known;
      await this.fetch(epoch);
    }
    if (this._save && this.may(epoch)) {
      const wait = this._nextSave - performance.now();
      if (wait > 0) {
        this.later(wait);
      } else {
        await this.save(epoch);
      }
    }
  }

  /** Whether this page still holds the lease that it held when it began. */
  private may(epoch: number): boolean {
    return this._state === 'writing' && this._epoch === epoch && !this._disposed;
  }

  private later(wait: number): void {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => void this.work(), wait);
  }

  private async fetch(epoch: number): Promise<void> {
    const reply = await this.run.api.cells(this.run.run, this._known);
    if (!this.may(epoch)) {
      return;
    }
    const cells = reply.cells as unknown as IAgentCell[];
    if (this._known >= 0 && missing(this.shared, reply.order).some(id => !cells.some(cell => cell.id === id))) {
      // A cell that did not change is not there: it was removed in some other way than by a person in the page.
      this._known = -1;
      this._again = true;
      return;
    }
    const wasDirty = this.context.model.dirty;
    const changed = this.writing(() => {
      const editing = new Set(
        [...this.page.editing()].filter(id => cells.every(cell => cell.id !== id || statusOf(cell) === 'waiting'))
      );
      const put = this.page.still(() => upsert(this.shared, reply.order, cells, editing));
      setMetadata(this.shared, reply.metadata as PartialJSONObject);
      return put;
    });
    if (!wasDirty && !this.context.model.collaborative) {
      // What the agent wrote is nothing for a person to be asked about when they close the notebook.
      this.context.model.dirty = false;
    }
    this.watch();
    const first = this._known === -1;
    this._touched = this._touched && !first;
    this._known = reply.head.seq;
    this._applied = reply.head;
    this._head = Math.max(this._head, reply.head.seq);
    const matters = cells.some(cell => !isHead(cell) && !UNDER_WAY.has(statusOf(cell)));
    this._save = this._save || (changed && (reply.closed || matters || first)) || this._unsaved;
  }

  private async save(epoch: number): Promise<void> {
    if (!this.context.model.collaborative && !(await this.isCurrent())) {
      this._reconcile = true;
      this._again = true;
      return;
    }
    if (!this.may(epoch)) {
      return;
    }
    this._save = false;
    try {
      await this.context.save();
      this._unsaved = false;
      this._nextSave = performance.now() + SAVE_EVERY;
    } catch {
      // JupyterLab has said why, in a dialog: not every three seconds.
      this._save = true;
      this._nextSave = performance.now() + TRY_SAVING_AGAIN;
      this._again = true;
    }
  }

  /** A save that somebody has asked for. A page that does not write asks to be the one that does instead. */
  private async saveByLease(): Promise<void> {
    const { collaborative } = this.context.model;
    if ((this._state === 'held' || this._state === 'revoked') && !collaborative) {
      this._unsaved = differ(this._base, this.own());
      if (this._unsaved) {
        this.take();
      }
      return;
    }
    await this.alone(async () => {
      if (this._state === 'writing' && !collaborative && !(await this.isCurrent())) {
        await this.reconcile();
        this.refresh();
      }
      await this._plainSave();
    });
  }

  /** One after the other, whether the one before succeeded or not. */
  private alone(work: () => Promise<void>): Promise<void> {
    const mine = this._turn.then(work);
    this._turn = mine.catch(() => undefined);
    return mine;
  }

  /** Whether the file is as this page read or wrote it. */
  private async isCurrent(): Promise<boolean> {
    const known = this.context.contentsModel;
    let file: Contents.IModel;
    try {
      file = await this.page.stat(this.context.path);
    } catch (error) {
      if ((error as { response?: Response }).response?.status === 404) {
        return true;
      }
      throw error;
    }
    if (known?.hash && file.hash) {
      return known.hash === file.hash;
    }
    return known !== null && Date.parse(file.last_modified) - Date.parse(known.last_modified) <= 500;
  }

  /** Put the file and this page together: the file's content, and of this page what the person has changed. */
  private async reconcile(): Promise<void> {
    if (this.context.model.collaborative || (await this.isCurrent())) {
      return;
    }
    const { model } = this.context;
    const before = new Set(this.shared.cells);
    const base = this._base;
    let mine = this.own();
    // A person may go on typing while the file is being read.
    const typed = () => {
      if (this.shared.cells.some(cell => before.has(cell))) {
        mine = this.own();
      }
    };
    model.contentChanged.connect(typed);
    try {
      await this.page.anew(async () => {
        this._mine += 1;
        try {
          await this.context.revert();
          // Its steps are of cells that are gone; undoing the reading itself would bring an old notebook back.
          this.shared.clearUndoHistory();
          this._base = this.own();
          this._unsaved = differ(base, mine);
          putBack(this.shared, base, mine);
        } finally {
          this._mine -= 1;
        }
      });
    } finally {
      model.contentChanged.disconnect(typed);
    }
    this._save = true;
  }

  private onSaveState(_: unknown, state: DocumentRegistry.SaveState): void {
    if (state === 'started') {
      this._saving = { own: this.own(), head: this._applied, epoch: this._epoch };
      return;
    }
    const saved = this._saving;
    this._saving = null;
    if (state === 'completed' && saved !== null) {
      this._base = saved.own;
      if (saved.head !== null && this.may(saved.epoch)) {
        this.run.live.send({ type: 'written', ...saved.head, epoch: saved.epoch });
      }
      if (this._touched) {
        this.refresh();
      }
    }
  }

  /** Notice what others do to the agent's cells, as a person who runs one: the file is to show what was recorded. */
  private watch(): void {
    for (const cell of this.shared.cells) {
      if (!this._watched.has(cell) && this.isAgents(cell.getId())) {
        this._watched.add(cell);
        cell.changed.connect(this.onAgentCell, this);
      }
    }
  }

  private onAgentCell(cell: ISharedCell): void {
    this._touched = this._touched || (!this._mine && !this.page.editing().has(cell.getId()));
  }

  /** The notebook was read from its file, by the person's wish. */
  private onFileChanged(): void {
    if (this._saving === null && !this._mine) {
      this._base = this.own();
      this._known = -1;
      void this.work();
    }
  }

  private writing<T>(change: () => T): T {
    this._mine += 1;
    try {
      return change();
    } finally {
      this._mine -= 1;
    }
  }

  private own(): Own {
    return ownOf(this.shared, id => this.isAgents(id));
  }

  private isAgents(id: string): boolean {
    return id.startsWith(`${this.run.run.slice(-8)}-`);
  }

  private get shared() {
    return this.context.model.sharedModel;
  }

  private readonly _leave = (): void => {
    this.run.live.send({ type: 'close' });
  };
  private readonly _warn = (event: BeforeUnloadEvent): void => {
    if (this._unsaved && this._state !== 'writing') {
      event.preventDefault();
    }
  };

  private _state: WriterState = 'opening';
  private _words = '';
  private _epoch = -1;
  private _take = false;
  private _head = 0;
  /** The record up to which the cells in the page are; -1 where all are to be fetched. */
  private _known = -1;
  private _applied: Cells['head'] | null = null;
  private _base: Own;
  private _reconcile = false;
  private _save = false;
  private _nextSave = 0;
  private _saving: { own: Own; head: Cells['head'] | null; epoch: number } | null = null;
  private _unsaved = false;
  private _turn: Promise<void> = Promise.resolve();
  private readonly _plainSave: () => Promise<void>;
  private _mine = 0;
  private _touched = false;
  private readonly _watched = new WeakSet<ISharedCell>();
  private _working = false;
  private _again = false;
  private _timer = 0;
  private _disposed = false;
  private readonly _changed = new Signal<this, void>(this);
}
