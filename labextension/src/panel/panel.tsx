import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import { aideIcon } from '../icons';
import { keepFocus } from './focus';
import { Host, IHost, useHost, useSignal } from './host';
import { NewRunPage } from './newrun';
import { Notice } from './parts';
import { RunPage } from './run';
import { RunsPage } from './runs';

/** The side panel. */
export class AidePanel extends ReactWidget {
  constructor(private readonly host: IHost) {
    super();
    this.id = 'aide-jupyter:panel';
    this.title.icon = aideIcon;
    this.title.caption = host.trans.__('AIDE: runs, candidates and their review');
    this.addClass('jp-Aide');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', host.trans.__('AIDE'));
    this._endFocus = keepFocus(this.node);
  }

  dispose(): void {
    this._endFocus();
    super.dispose();
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.place();
  }

  protected onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this.place();
  }

  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.place();
  }

  protected onAfterDetach(message: Message): void {
    super.onAfterDetach(message);
    this.place();
  }

  render(): JSX.Element {
    return (
      <Host.Provider value={this.host}>
        <Panel />
      </Host.Provider>
    );
  }

  /** Notifications come at the right, above the buttons of a card there: while the panel is in sight they go left. */
  private place(): void {
    const right = this.isVisible && this.node.closest('#jp-right-stack') !== null;
    document.body.classList.toggle('jp-mod-aideRight', right);
  }

  private readonly _endFocus: () => void;
}

function Panel(): JSX.Element {
  const { aide, trans } = useHost();
  useSignal(aide.changed);
  const { page } = aide.place;
  return (
    <>
      <nav className="jp-Aide-nav" aria-label={trans.__('AIDE')}>
        <button
          type="button"
          aria-current={page === 'runs' ? 'page' : undefined}
          onClick={() => aide.go({ page: 'runs' })}
        >
          {trans.__('Runs')}
        </button>
        {aide.place.run !== null && (
          <button
            type="button"
            aria-current={page === 'run' ? 'page' : undefined}
            onClick={() => aide.go({ page: 'run' })}
          >
            {trans.__('This run')}
          </button>
        )}
        <button
          type="button"
          aria-current={page === 'new' ? 'page' : undefined}
          onClick={() => aide.go({ page: 'new' })}
        >
          {trans.__('New')}
        </button>
      </nav>
      {aide.mismatch !== null && (
        <Notice kind="warning" title={trans.__('This page and the server have different versions')}>
          <p>
            {trans.__(
              'The page has %1, the server %2. Start Jupyter again and load this page again.',
              aide.mismatch.page,
              aide.mismatch.server
            )}
          </p>
        </Notice>
      )}
      <div className="jp-Aide-page" data-page={page} tabIndex={-1}>
        {page === 'runs' && <RunsPage />}
        {page === 'new' && <NewRunPage />}
        {page === 'run' && <RunPage />}
      </div>
    </>
  );
}
