import type { IDisposable } from '@lumino/disposable';

import type { Lease } from './lease';
import type { PageFile, WrittenContext } from './pageFile';

/** Milliseconds between two saves that this page makes by itself, at least. */
export const SAVE_EVERY = 3000;
/** The same after one that failed: JupyterLab says why in a dialog. */
const TRY_AGAIN = 60000;

/**
 * The saves of an open notebook: a person's, JupyterLab's by the clock, and those for what the agent wrote.
 *
 * All keep to the lease, and one comes after the other: two at once would have JupyterLab find that the file has changed.
 */
export class Saves implements IDisposable {
  /** @param onReconciled Page and file were put together before a save: the agent's cells are to be looked at again. */
  constructor(
    private readonly context: WrittenContext,
    private readonly lease: Lease,
    private readonly file: PageFile,
    private readonly onReconciled: () => void
  ) {
    this._plain = context.save.bind(context);
    context.save = () => this.asked();
  }

  /** Whether there is something that is to be in the file soon. */
  wanted = false;

  /** Milliseconds until the next save by this page itself may be made. */
  get wait(): number {
    return this._next - performance.now();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Save what is wanted. False where it failed. */
  async save(): Promise<boolean> {
    this.wanted = false;
    try {
      await this.context.save();
      this.file.saved();
      this._next = performance.now() + SAVE_EVERY;
      return true;
    } catch {
      this.wanted = true;
      this._next = performance.now() + TRY_AGAIN;
      return false;
    }
  }

  /** Put page and file together, where they are not the same, while nothing is saved. */
  reconcile(): Promise<void> {
    return this.alone(() => this.together());
  }

  dispose(): void {
    if (!this._disposed) {
      this._disposed = true;
      this.context.save = this._plain;
    }
  }

  /** A save that somebody has asked for. A page that does not write asks to be the one that does instead. */
  private async asked(): Promise<void> {
    const { collaborative } = this.context.model;
    if (this.lease.away && !collaborative) {
      if (this.file.look()) {
        this.lease.take();
      }
      return;
    }
    await this.alone(async () => {
      if (this.lease.state === 'writing' && !collaborative && !(await this.file.isCurrent())) {
        await this.together();
        this.onReconciled();
      }
      await this._plain();
    });
  }

  private async together(): Promise<void> {
    if (await this.file.reconcile()) {
      this.wanted = true;
    }
  }

  /** One after the other, whether the one before succeeded or not. */
  private alone(work: () => Promise<void>): Promise<void> {
    const mine = this._turn.then(work);
    this._turn = mine.catch(() => undefined);
    return mine;
  }

  private _next = 0;
  private _turn: Promise<void> = Promise.resolve();
  private _disposed = false;
  private readonly _plain: () => Promise<void>;
}
