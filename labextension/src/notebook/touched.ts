import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

/** Notices what others do to the agent's cells, as a person who runs one: the file is to show what was recorded. */
export class Touched implements IDisposable {
  /**
   * @param isAgents Whether a cell is the agent's, by id.
   * @param isExpected Whether a change that happens now to the cell of this id is this page's own, or an edit that was asked for.
   */
  constructor(
    private readonly shared: () => ISharedNotebook,
    private readonly isAgents: (id: string) => boolean,
    private readonly isExpected: (id: string) => boolean
  ) {}

  /** Whether a cell of the agent's may not show what was recorded. Set back once all of them were put in anew. */
  any = false;

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Watch the cells of the agent's that are there now as well. */
  watch(): void {
    for (const cell of this.shared().cells) {
      if (!this._watched.has(cell) && this.isAgents(cell.getId())) {
        this._watched.add(cell);
        cell.changed.connect(this.onChanged, this);
      }
    }
  }

  dispose(): void {
    this._disposed = true;
    Signal.disconnectReceiver(this);
  }

  private onChanged(cell: ISharedCell): void {
    this.any = this.any || !this.isExpected(cell.getId());
  }

  private readonly _watched = new WeakSet<ISharedCell>();
  private _disposed = false;
}
