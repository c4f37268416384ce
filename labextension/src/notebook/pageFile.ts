import type { ISharedNotebook } from '@jupyter/ydoc';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookContent } from '@jupyterlab/nbformat';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { isOwnCopy } from './cells';
import { withoutDrafts } from './drafts';
import { differ, Own, ownOf, putBack } from './own';

/** The open notebook, as the page has it. */
export type WrittenContext = DocumentRegistry.IContext<INotebookModel>;

/** What is asked of the page around it. */
export interface IFilePage {
  /** The file as it is now, without its content, with its hash. */
  stat(path: string): Promise<Contents.IModel>;
  /** The cells that a person edits now, to be answered with what was edited: by id, the programs as they were proposed. */
  editing(): ReadonlyMap<string, string>;
  /** Read the notebook from its file again, which makes all its cells anew, and put focus and cursor back. */
  anew(change: () => Promise<void>): Promise<void>;
}

/** An open notebook and its file: whether they are the same, what the person has changed since, and putting both together. */
export class PageFile implements IDisposable {
  constructor(
    private readonly context: WrittenContext,
    private readonly page: IFilePage,
    private readonly run: string
  ) {
    this._base = this.own();
    this._plainContent = context.model.toJSON.bind(context.model);
    context.model.toJSON = () => withoutDrafts(this._plainContent() as INotebookContent, page.editing());
    context.saveState.connect(this.onSaveState, this);
    context.fileChanged.connect(this.onFileChanged, this);
  }

  /** Whether the person has typed something here that only they can save, by continuing here. */
  get unsaved(): boolean {
    return this._unsaved;
  }

  /** Whether what changes now is changed by this page, and not by a person. */
  get isOurs(): boolean {
    return this._ours > 0;
  }

  /** Whether this page writes the file now. */
  get isSaving(): boolean {
    return this._saving !== null;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  isAgents(id: string): boolean {
    return id.startsWith(`${this.run.slice(-8)}-`);
  }

  /** Change something that is not to be taken for a person's change. */
  ours<T>(change: () => T): T {
    this._ours += 1;
    try {
      return change();
    } finally {
      this._ours -= 1;
    }
  }

  /** Look whether there is something unsaved. */
  look(): boolean {
    this._unsaved = differ(this._base, this.own());
    return this._unsaved;
  }

  saved(): void {
    this._unsaved = false;
  }

  /** Whether the file is as this page read or wrote it. */
  async isCurrent(): Promise<boolean> {
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

  /**
   * Put the file and this page together: the file's content, and of this page what the person has changed.
   *
   * @returns Whether there was something to put together.
   */
  async reconcile(): Promise<boolean> {
    if (this.context.model.collaborative || (await this.isCurrent())) {
      return false;
    }
    const { model } = this.context;
    const before = new Set(this.shared.cells);
    const base = this._base;
    let mine = this.own();
    let drafts = this.drafts();
    // A person may go on typing while the file is being read.
    const typed = () => {
      if (this.shared.cells.some(cell => before.has(cell))) {
        mine = this.own();
        drafts = this.drafts();
      }
    };
    model.contentChanged.connect(typed);
    try {
      await this.page.anew(async () => {
        this._ours += 1;
        try {
          await this.context.revert();
          this.continueDrafts(drafts, mine);
          // Its steps are of cells that are gone; undoing the reading itself would bring an old notebook back.
          this.shared.clearUndoHistory();
          this._base = this.own();
          this._unsaved = differ(base, mine);
          putBack(this.shared, base, mine);
        } finally {
          this._ours -= 1;
        }
      });
    } finally {
      model.contentChanged.disconnect(typed);
    }
    return true;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this.context.model.toJSON = this._plainContent;
    Signal.disconnectReceiver(this);
  }

  private onSaveState(_: unknown, state: DocumentRegistry.SaveState): void {
    if (state === 'started') {
      this._saving = this.own();
      return;
    }
    if (state === 'completed' && this._saving !== null) {
      this._base = this._saving;
    }
    this._saving = null;
  }

  /** The notebook was read from its file, by the person's wish. */
  private onFileChanged(): void {
    if (!this.isSaving && !this.isOurs) {
      this._base = this.own();
    }
  }

  private own(): Own {
    return ownOf(this.shared, id => this.isAgents(id));
  }

  /** What the person has made so far of the programs that they edit. */
  private drafts(): Map<string, string> {
    const editing = this.page.editing();
    const cells = this.shared.cells.filter(cell => editing.has(cell.getId()));
    return new Map(cells.map(cell => [cell.getId(), cell.getSource()]));
  }

  /** Put drafts back into the cells where they are edited, in place of the copies of them that the file has. */
  private continueDrafts(drafts: ReadonlyMap<string, string>, mine: Own): void {
    this.shared.transact(() => {
      const cells = [...this.shared.cells];
      for (const [id, source] of drafts) {
        const cell = cells.find(one => one.getId() === id);
        if (cell === undefined) {
          continue;
        }
        cell.setSource(source);
        cell.setMetadata('editable', true);
        const copy = cells.findIndex(one => isOwnCopy(one, id) && !mine.has(one.getId()));
        if (copy !== -1) {
          this.shared.deleteCell(copy);
          cells.splice(copy, 1);
        }
      }
    }, false);
  }

  private get shared(): ISharedNotebook {
    return this.context.model.sharedModel;
  }

  private _base: Own;
  private _saving: Own | null = null;
  private _unsaved = false;
  private _ours = 0;
  private _disposed = false;
  private readonly _plainContent: INotebookModel['toJSON'];
}
