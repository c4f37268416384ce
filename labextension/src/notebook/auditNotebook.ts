import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { PanelLayout } from '@lumino/widgets';

import type { FollowedRun } from '../followed';
import { IPage, NotebookWriter } from '../notebookWriter';
import type { IHost } from '../panel/host';
import type { IHold } from '../tokens';
import { BannerWidget } from './banner';
import { CellWidget } from './card';
import { codeCellId } from './cells';
import { anew, still } from './inPlace';
import { CellReview, IProgramCell } from './review';

/** One open audit notebook: who writes it, and the reviews and the running output in its cells. */
export class AuditNotebook implements IDisposable {
  constructor(
    readonly panel: NotebookPanel,
    private readonly hold: IHold,
    private readonly host: IHost,
    contents: Contents.IManager,
    /** Called when other programs wait than before. */
    private readonly onReviews: () => void
  ) {
    const page: IPage = {
      stat: path => contents.get(path, { content: false, hash: true }),
      editing: () => this.editing(),
      still: change => this.still(change),
      anew: change => anew(panel, change)
    };
    this.writer = new NotebookWriter(this.run, panel.context, page);
    this._banner = new BannerWidget(host, this.run, this.writer, () => this.showNext());
    panel.contentHeader.addWidget(this._banner);
    this.run.changed.connect(this.look, this);
    this.run.printed.connect(this.look, this);
    this.writer.changed.connect(this.look, this);
    panel.content.modelContentChanged.connect(this.look, this);
    panel.context.model.cells.changed.connect(this.look, this);
    panel.disposed.connect(this.dispose, this);
    this.look();
  }

  readonly writer: NotebookWriter;

  get run(): FollowedRun {
    return this.hold.run;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** The review of a candidate, where it waits. */
  review(candidate: string): CellReview | undefined {
    return this._reviews.get(candidate);
  }

  /** Bring a waiting program into view, with the focus on its card and not on any of its buttons. */
  async show(candidate: string): Promise<void> {
    const { content } = this.panel;
    const place = content.widgets.findIndex(cell => cell.model.id === codeCellId(this.run.run, candidate));
    if (place !== -1) {
      content.activeCellIndex = place;
      await content.scrollToItem(place);
      await content.widgets[place].ready;
      this._cells.get(candidate)?.widget.look();
    }
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    window.clearTimeout(this._timer);
    Signal.disconnectReceiver(this);
    this.writer.dispose();
    this._banner.dispose();
    for (const { widget } of this._cells.values()) {
      widget.dispose();
    }
    this._cells.clear();
    this.hold.dispose();
  }

  private showNext(): void {
    const [next] = this.run.questions?.questions ?? [];
    if (next !== undefined) {
      void this.show(next.candidate);
    }
  }

  /** Look again, once for all that happens now. */
  private look(): void {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => this.decorate(), 0);
  }

  private decorate(): void {
    if (this._disposed) {
      return;
    }
    const wanted = new Set<string>();
    if (this.writer.state !== 'refused') {
      this.updateReviews();
      for (const [candidate, review] of this._reviews) {
        if (!review.over) {
          wanted.add(candidate);
        }
      }
      for (const node of this.run.state?.nodes ?? []) {
        if (node.standing === 'running') {
          wanted.add(node.id);
        }
      }
    }
    const apply = () => {
      for (const [candidate, { cell, widget }] of this._cells) {
        if (!wanted.has(candidate) || cell.isDisposed || widget.isDisposed) {
          widget.dispose();
          this._cells.delete(candidate);
        }
      }
      for (const candidate of wanted) {
        if (!this._cells.has(candidate)) {
          this.attach(candidate);
        }
        this._cells.get(candidate)?.widget.update();
      }
    };
    const shown = [...wanted].map(candidate => `${candidate} ${this._reviews.has(candidate)}`).join();
    if (shown === this._shown) {
      apply();
    } else {
      // A card that comes or goes above what a person reads would move it by the card's height.
      this._shown = shown;
      this.still(apply);
    }
  }

  private still<T>(change: () => T): T {
    return still(this.panel, id => id.startsWith(`${this.run.run.slice(-8)}-`), change);
  }

  private updateReviews(): void {
    if (this.run.questions === null && this.run.state === null) {
      return;
    }
    const questions = this.run.questions?.questions ?? [];
    const before = this._reviews.size;
    const asked = new Map(questions.map(question => [question.candidate, question]));
    for (const [candidate, review] of this._reviews) {
      review.update(asked.get(candidate) ?? null);
      if (review.over) {
        this._reviews.delete(candidate);
      }
    }
    for (const [candidate, question] of asked) {
      if (!this._reviews.has(candidate)) {
        const { trans } = this.host;
        const review = new CellReview(this.run, this.programCell(candidate), question, {
          notShown: trans.__('The cell does not show the program that waits, so nothing was decided.'),
          notEdited: trans.__('The cell still holds the program as it was proposed. Change it, or discard the edit.'),
          decidedWhileEditing: trans.__(
            'It was decided elsewhere while you edited it. Your edit is kept in a cell of your own below.'
          )
        });
        review.changed.connect(this.onReview, this);
        this._reviews.set(candidate, review);
        this.onReviews();
      }
    }
    if (this._reviews.size < before) {
      this.onReviews();
    }
  }

  private onReview(review: CellReview): void {
    this.look();
    if (review.gone) {
      this.writer.refresh();
    }
  }

  private attach(candidate: string): void {
    const id = codeCellId(this.run.run, candidate);
    const cell = this.panel.content.widgets.find(one => one.model.id === id);
    if (cell === undefined) {
      return;
    }
    const widget = new CellWidget(this.host, this.run, candidate, () => this._reviews.get(candidate));
    this._cells.set(candidate, { cell, widget });
    // A cell outside of the view has no parts yet, and puts them in behind what is there.
    void cell.ready.then(() => {
      if (!cell.isDisposed && !widget.isDisposed) {
        (cell.layout as PanelLayout).insertWidget(2, widget);
      }
    });
  }

  /** The cells that are edited, with what was proposed. In a room another person may be the one who edits. */
  private editing(): Map<string, string> {
    const others = this.panel.context.model.collaborative
      ? this.shared.cells.filter(cell => cell.getMetadata('editable') === true)
      : [];
    const editing = new Map(others.map(cell => [cell.getId(), cell.getSource()]));
    for (const [candidate, { mode, question }] of this._reviews) {
      if (mode === 'edit') {
        editing.set(codeCellId(this.run.run, candidate), question.code.exact);
      }
    }
    return editing;
  }

  private programCell(candidate: string): IProgramCell {
    const id = codeCellId(this.run.run, candidate);
    const find = () => this.shared.cells.find(cell => cell.getId() === id);
    return {
      source: () => find()?.getSource() ?? null,
      put: source => {
        const cell = find();
        if (cell !== undefined && cell.getSource() !== source) {
          this.shared.transact(() => cell.setSource(source), false);
        }
      },
      setEditable: editable => {
        this.shared.transact(() => find()?.setMetadata('editable', editable), false);
      },
      enter: () => {
        const { content } = this.panel;
        content.activeCellIndex = content.widgets.findIndex(cell => cell.model.id === id);
        content.mode = 'edit';
        content.activeCell?.editor?.focus();
      }
    };
  }

  private get shared() {
    return this.panel.context.model.sharedModel;
  }

  private readonly _banner: BannerWidget;
  private readonly _reviews = new Map<string, CellReview>();
  private readonly _cells = new Map<string, { cell: Cell; widget: CellWidget }>();
  /** What stands in the cells: candidates, and whether it is their review. */
  private _shown = '';
  private _timer = 0;
  private _disposed = false;
}
