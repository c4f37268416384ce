/** A notebook that is open in a page, with its file, for tests: the parts of JupyterLab's context that count. */

import { YNotebook } from '@jupyter/ydoc';
import type { INotebookContent } from '@jupyterlab/nbformat';
import type { Contents } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';

import type { IAgentCell } from '../notebook/cells';
import { sha256 } from '../notebook/sha256';
import type { WrittenContext } from '../notebook/pageFile';
import type { IPage, IWrittenRun } from '../notebookWriter';
import type { Cells, PageMessage, ServerMessage } from '../types';

export const RUN = '20261130t191148-1f3a9c02';
const PREFIX = RUN.slice(-8);

/** A file of the server, which others can write too. */
export class FakeFile {
  written = 0;
  constructor(public text: string) {}

  get json(): JSONObject {
    return JSON.parse(this.text) as JSONObject;
  }
  get notebook(): INotebookContent {
    return JSON.parse(this.text) as INotebookContent;
  }
  get stat(): Contents.IModel {
    return { hash: sha256(this.text), last_modified: '2026-11-30T19:11:48Z' } as Contents.IModel;
  }
  /** Somebody else changes the file. */
  change(cells: (cells: INotebookContent['cells']) => void): void {
    const notebook = this.notebook;
    cells(notebook.cells);
    this.text = JSON.stringify(notebook);
  }
}

/** The page's side of it. Like JupyterLab's, it asks a person where the file is not as the page knows it. */
export class FakeContext {
  readonly model;
  readonly pathChanged = new Signal<this, string>(this);
  readonly saveState = new Signal<this, string>(this);
  readonly fileChanged = new Signal<this, unknown>(this);
  readonly disposed = new Signal<this, void>(this);
  localPath = 'aide-runs/houses/audit.ipynb';
  contentsModel: Contents.IModel;
  dialogs = 0;
  onRevert: () => void = () => undefined;

  constructor(
    readonly file: FakeFile,
    readonly shared = YNotebook.create({ disableDocumentWideUndoRedo: true }) as YNotebook
  ) {
    const contentChanged = new Signal<object, void>({});
    const emit = () => contentChanged.emit();
    this.model = {
      sharedModel: shared,
      dirty: false,
      collaborative: false,
      contentChanged,
      toJSON: () => shared.toJSON()
    };
    shared.setSource(file.json);
    this.contentsModel = file.stat;
    shared.clearUndoHistory();
    shared.ydoc.on('afterTransaction', emit);
  }

  get path(): string {
    return this.localPath;
  }
  async save(): Promise<void> {
    this.saveState.emit('started');
    const text = JSON.stringify(this.model.toJSON());
    await Promise.resolve();
    if (this.file.stat.hash !== this.contentsModel.hash) {
      this.dialogs += 1;
      this.saveState.emit('failed');
      throw new Error('File Changed');
    }
    this.file.text = text;
    this.file.written += 1;
    this.contentsModel = this.file.stat;
    this.model.dirty = false;
    this.fileChanged.emit(undefined);
    this.saveState.emit('completed');
  }
  async revert(): Promise<void> {
    await Promise.resolve();
    this.onRevert();
    this.shared.setSource(this.file.json);
    this.contentsModel = this.file.stat;
    this.fileChanged.emit(undefined);
  }
  get context(): WrittenContext {
    return this as unknown as WrittenContext;
  }
  page(editing: () => ReadonlyMap<string, string> = () => new Map()): IPage {
    return {
      stat: () => Promise.resolve(this.file.stat),
      editing,
      still: change => change(),
      anew: change => change()
    };
  }
  sources(): string[] {
    return this.shared.cells.map(cell => cell.getSource());
  }
  ids(): string[] {
    return this.shared.cells.map(cell => cell.getId());
  }
}

/** A run whose cells a test makes. */
export class FakeRun implements IWrittenRun {
  readonly run = RUN;
  readonly sent: PageMessage[] = [];
  readonly message = new Signal<this, ServerMessage>(this);
  readonly connectedChanged = new Signal<this, boolean>(this);
  connected = true;
  asked: (number | undefined)[] = [];
  seq = 0;
  closed = false;
  private rendered: { cell: IAgentCell; seq: number }[] = [];

  readonly live = this as unknown as IWrittenRun['live'];
  readonly api = {
    cells: async (_run: string, after = -1): Promise<Cells> => {
      this.asked.push(after);
      const cells = this.rendered.filter(one => one.seq > after).map(one => structuredClone(one.cell));
      return {
        run: RUN,
        head: { seq: this.seq, hash: sha256(String(this.seq)) },
        metadata: { aide: { run: RUN, head: { seq: this.seq } }, language_info: { name: 'python' } },
        order: this.rendered.map(one => one.cell.id),
        cells: cells as unknown as Cells['cells'],
        closed: this.closed
      };
    }
  };

  send(message: PageMessage): boolean {
    if (this.connected) {
      this.sent.push(message);
    }
    return this.connected;
  }
  count(type: PageMessage['type']): number {
    return this.sent.filter(message => message.type === type).length;
  }
  render(...cells: IAgentCell[]): this {
    this.seq += 1;
    for (const cell of cells) {
      const known = this.rendered.find(one => one.cell.id === cell.id);
      if (known === undefined) {
        this.rendered.push({ cell, seq: this.seq });
      } else {
        Object.assign(known, { cell, seq: this.seq });
      }
    }
    return this;
  }
  tell(): this {
    this.message.emit({ type: 'head', seq: this.seq, phase: 'running' });
    return this;
  }
  lease(state: 'granted' | 'held' | 'revoked' | 'refused', epoch: number, reconcile = false): void {
    this.message.emit({ type: 'lease', state, epoch, path: '', words: '', reconcile });
  }
}

export function agentCell(
  name: string,
  source: string,
  more: Partial<IAgentCell> & { status?: string } = {}
): IAgentCell {
  const { status = 'ok', ...rest } = more;
  const part = name === 'head' ? 'head' : name.endsWith('-plan') ? 'plan' : 'code';
  const aide = { schema: 1, run: RUN, part, status, source_sha256: sha256(source) };
  return {
    id: `${PREFIX}-${name}`,
    cell_type: part === 'code' ? 'code' : 'markdown',
    source,
    metadata: { aide, deletable: false, editable: false },
    ...(part === 'code' ? { outputs: [] } : {}),
    ...rest
  };
}

export function ownCell(id: string, source: string): INotebookContent['cells'][number] {
  return { id, cell_type: 'code', source, metadata: {}, outputs: [], execution_count: null };
}

export function notebookFile(...cells: INotebookContent['cells']): FakeFile {
  const metadata = { aide: { run: RUN } };
  return new FakeFile(JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }));
}
