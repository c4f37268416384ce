import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { aideIcon } from '../icons';
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
  }

  render(): JSX.Element {
    return (
      <Host.Provider value={this.host}>
        <Panel />
      </Host.Provider>
    );
  }
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
      <div className="jp-Aide-page" data-page={page}>
        {page === 'runs' && <RunsPage />}
        {page === 'new' && <NewRunPage />}
        {page === 'run' && <RunPage />}
      </div>
    </>
  );
}
