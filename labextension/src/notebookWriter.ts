import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { PartialJSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { IAgentCell, isHead, missing, setMetadata, statusOf, upsert } from './notebook/cells';
import { ILeaseChange, ILeaseSocket, Lease, LeaseState } from './notebook/lease';
import { IFilePage, PageFile, WrittenContext } from './notebook/pageFile';
import { Saves } from './notebook/saves';
import { Touched } from './notebook/touched';
import type { Cells, ServerMessage } from './types';

/** Milliseconds until the next try after something failed. */
const TRY_AGAIN = 3000;
/** Where a candidate has got to before anything about it needs to be in the file. */
const UNDER_WAY = new Set(['chosen', 'proposed', 'waiting', 'running']);

/** A run, as its notebook needs it. */
export interface IWrittenRun {
  readonly run: string;
  readonly live: ILeaseSocket;
  readonly api: { cells(run: string, after?: number): Promise<Cells> };
}

/** What the writer asks of the page around it. */
export interface IPage extends IFilePage {
  /** Change cells so that what is in sight stays where it is. */
  still<T>(change: () => T): T;
}

/**
 * Keeps one open notebook up with its run while this page holds the lease.
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
    this._file = new PageFile(context, page, run.run);
    this._lease = new Lease(run.live, () => context.localPath);
    this._saves = new Saves(context, this._lease, this._file, () => this.refresh());
    this._touched = new Touched(
      () => this.shared,
      id => this._file.isAgents(id),
      id => this._file.isOurs || page.editing().has(id)
    );
    this._lease.changed.connect(this.onLease, this);
    run.live.message.connect(this.onMessage, this);
    run.live.connectedChanged.connect(this.onConnected, this);
    context.pathChanged.connect(this.onPathChanged, this);
    context.saveState.connect(this.onSaveState, this);
    context.fileChanged.connect(this.onFileChanged, this);
    context.model.contentChanged.connect(this.onContentChanged, this);
    context.disposed.connect(this.dispose, this);
    window.addEventListener('beforeunload', this._warn);
    this._lease.open();
  }

  get state(): LeaseState {
    return this._lease.state;
  }

  /** What the server said about it, in words; empty where there is nothing to say. */
  get words(): string {
    return this._lease.words;
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
    return this._file.unsaved;
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
    this._lease.take();
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
    window.clearTimeout(this._timer);
    window.removeEventListener('beforeunload', this._warn);
    this._saves.dispose();
    this._lease.dispose();
    this._touched.dispose();
    this._file.dispose();
    Signal.disconnectReceiver(this);
    Signal.clearData(this);
  }

  // --- the lease

  private onConnected(): void {
    this._changed.emit();
  }

  private onPathChanged(): void {
    this._lease.open();
  }

  private onMessage(_: unknown, message: ServerMessage): void {
    if (message.type === 'head') {
      this._head = message.seq;
      void this.work();
    }
  }

  private onLease(_: Lease, { lost, reconcile }: ILeaseChange): void {
    this._reconcile = this._reconcile || reconcile;
    if (lost) {
      this.stop();
    }
    this._changed.emit();
    void this.work();
  }

  /** Another page writes now. What the person typed here is kept, but neither saved over the other's nor asked about
   * by JupyterLab's autosave, which knows nothing of leases. */
  private stop(): void {
    window.clearTimeout(this._timer);
    this._saves.wanted = false;
    if (!this.context.model.collaborative) {
      this._file.look();
      this.context.model.dirty = false;
    }
  }

  /** The first thing that a person changes in a page that does not write moves the lease to it. */
  private onContentChanged(): void {
    const theirs = this._lease.away && !this._file.isOurs && !this.context.model.collaborative;
    if (theirs && this._file.look()) {
      this.take();
    }
  }

  // --- the work, one thing after the other

  private async work(): Promise<void> {
    this._again = true;
    if (this._working) {
      return;
    }
    this._working = true;
    try {
      while (this._again && this._lease.holds(this._lease.epoch)) {
        this._again = false;
        await this.step(this._lease.epoch);
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
      await this._saves.reconcile();
      if (!this._lease.holds(epoch)) {
        return;
      }
      this._reconcile = false;
      this._known = -1;
    }
    if (this._known < this._head) {
      this._known = this._touched.any ? -1 : this._known;
      await this.fetch(epoch);
    }
    if (this._saves.wanted && this._lease.holds(epoch)) {
      await this.save(epoch);
    }
  }

  private async save(epoch: number): Promise<void> {
    if (this._saves.wait > 0) {
      this.later(this._saves.wait);
    } else if (!this.collaborative && !(await this._file.isCurrent())) {
      this._reconcile = true;
      this._again = true;
    } else if (this._lease.holds(epoch) && !(await this._saves.save())) {
      this._again = true;
    }
  }

  private later(wait: number): void {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => void this.work(), wait);
  }

  private async fetch(epoch: number): Promise<void> {
    const reply = await this.run.api.cells(this.run.run, this._known);
    if (!this._lease.holds(epoch)) {
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
    const changed = this._file.ours(() => {
      const editing = new Set(
        [...this.page.editing().keys()].filter(id =>
          cells.every(cell => cell.id !== id || statusOf(cell) === 'waiting')
        )
      );
      const put = this.page.still(() => upsert(this.shared, reply.order, cells, editing));
      setMetadata(this.shared, reply.metadata as PartialJSONObject);
      return put;
    });
    if (!wasDirty && !this.context.model.collaborative) {
      // What the agent wrote is nothing for a person to be asked about when they close the notebook.
      this.context.model.dirty = false;
    }
    this._touched.watch();
    const first = this._known === -1;
    this._touched.any &&= !first;
    this._known = reply.head.seq;
    this._applied = reply.head;
    this._head = Math.max(this._head, reply.head.seq);
    const matters = cells.some(cell => !isHead(cell) && !UNDER_WAY.has(statusOf(cell)));
    if ((changed && (reply.closed || matters || first)) || this._file.unsaved) {
      this._saves.wanted = true;
    }
  }

  private onSaveState(_: unknown, state: DocumentRegistry.SaveState): void {
    if (state === 'started') {
      this._saving = { head: this._applied, epoch: this._lease.epoch };
      return;
    }
    const saved = this._saving;
    this._saving = null;
    if (state === 'completed' && saved !== null) {
      if (saved.head !== null && this._lease.holds(saved.epoch)) {
        this.run.live.send({ type: 'written', ...saved.head, epoch: saved.epoch });
      }
      if (this._touched.any) {
        this.refresh();
      }
    }
  }

  /** The notebook was read from its file, by the person's wish. */
  private onFileChanged(): void {
    if (!this._file.isSaving && !this._file.isOurs) {
      this.refresh();
    }
  }

  private get shared() {
    return this.context.model.sharedModel;
  }

  private readonly _warn = (event: BeforeUnloadEvent): void => {
    if (this.unsaved && this.state !== 'writing') {
      event.preventDefault();
    }
  };

  private readonly _file: PageFile;
  private readonly _lease: Lease;
  private readonly _saves: Saves;
  private readonly _touched: Touched;
  private _head = 0;
  /** The record up to which the cells in the page are; -1 where all are to be fetched. */
  private _known = -1;
  private _applied: Cells['head'] | null = null;
  private _reconcile = false;
  private _saving: { head: Cells['head'] | null; epoch: number } | null = null;
  private _working = false;
  private _again = false;
  private _timer = 0;
  private _disposed = false;
  private readonly _changed = new Signal<this, void>(this);
}
