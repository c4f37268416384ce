import { ReactWidget } from '@jupyterlab/ui-components';
import { Message, MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import * as React from 'react';

import type { FollowedRun } from '../followed';
import type { NotebookWriter } from '../notebookWriter';
import { Host, IHost, useHost, useSignal } from '../panel/host';
import { Button } from '../panel/parts';

interface IBanner {
  run: FollowedRun;
  writer: NotebookWriter;
  /** Shows the program that has waited longest. */
  onShow: () => void;
}

/** What a person should know about an open audit notebook, above its cells; nothing where all is as usual. */
export function Banner({ run, writer, onShow }: IBanner): JSX.Element | null {
  const { trans } = useHost();
  useSignal(run.changed);
  useSignal(writer.changed);
  const lines: JSX.Element[] = [];
  const away = !writer.collaborative && (writer.state === 'held' || writer.state === 'revoked');
  if (away) {
    lines.push(
      <p key="away">
        <span>
          {writer.words || trans.__('Live in another window')}
          {writer.unsaved && <> {trans.__('What you have typed here is not saved yet.')}</>}
        </span>
        <Button onClick={() => writer.take()}>{trans.__('Continue here')}</Button>
      </p>
    );
  } else if (writer.state === 'refused') {
    lines.push(<p key="refused">{writer.words}</p>);
  } else if (!writer.connected) {
    lines.push(
      <p key="lost">{trans.__('The server cannot be reached. This notebook catches up once it can be again.')}</p>
    );
  }
  const waits = run.state?.waiting.length ?? 0;
  if (run.questions?.elsewhere) {
    lines.push(<p key="elsewhere">{run.questions.elsewhere}</p>);
  } else if (waits > 0 && writer.state !== 'refused') {
    lines.push(
      <p key="waits">
        <span>{trans._n('%1 program waits for your decision', '%1 programs wait for your decision', waits)}</span>
        <Button onClick={onShow}>{trans.__('Show')}</Button>
      </p>
    );
  }
  return lines.length === 0 ? null : (
    <div className="jp-AideBanner-lines" role="status">
      {lines}
    </div>
  );
}

/** The banner above the cells, as high as what it says. */
export class BannerWidget extends ReactWidget {
  constructor(
    private readonly host: IHost,
    private readonly run: FollowedRun,
    private readonly writer: NotebookWriter,
    private readonly onShow: () => void
  ) {
    super();
    this.addClass('jp-AideBanner');
    this._sizes = new ResizeObserver(() => this.stretch());
  }

  dispose(): void {
    this._sizes.disconnect();
    super.dispose();
  }

  protected render(): JSX.Element {
    return (
      <Host.Provider value={this.host}>
        <div ref={this._inner}>
          <Banner run={this.run} writer={this.writer} onShow={this.onShow} />
        </div>
      </Host.Provider>
    );
  }

  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    void this.renderPromise?.then(() => {
      if (this._inner.current !== null) {
        this._sizes.observe(this._inner.current);
      }
    });
  }

  private stretch(): void {
    this.node.style.minHeight = `${this._inner.current?.offsetHeight ?? 0}px`;
    if (this.parent !== null) {
      MessageLoop.postMessage(this.parent, Widget.Msg.FitRequest);
    }
  }

  private readonly _inner = React.createRef<HTMLDivElement>();
  private readonly _sizes: ResizeObserver;
}
