import * as React from 'react';

import { when } from '../format';
import { useAction, useHost, useSignal } from './host';
import { Button, Notice, Problem } from './parts';

/** The state of the sandbox in a line, all of it when unfolded; unfolded where something is wrong. */
export function SandboxLine(): JSX.Element | null {
  const { aide, trans } = useHost();
  useSignal(aide.changed);
  const action = useAction();
  const doctor = aide.doctor;
  if (doctor === null) {
    return aide.error ? null : (
      <p className="jp-Aide-quiet jp-Aide-sandbox" role="status">
        {trans.__('Looking at the sandbox…')}
      </p>
    );
  }
  return (
    <details className={`jp-Aide-section jp-Aide-sandbox ${doctor.ok ? '' : 'jp-mod-broken'}`} open={!doctor.ok}>
      <summary>
        <span aria-hidden="true">{doctor.ok ? '✓' : '✕'} </span>
        {doctor.words}
      </summary>
      <div className="jp-Aide-sectionBody">
        <ul className="jp-Aide-checks">
          {doctor.checks.map((check, place) => (
            <li key={place} className={check.ok ? '' : 'jp-mod-broken'}>
              <strong>
                <span aria-hidden="true">{check.ok ? '✓' : '✕'} </span>
                {check.name}
                {!check.ok && <span className="jp-Aide-visuallyHidden"> {trans.__('not in order')}</span>}
              </strong>
              <span>{check.detail}</span>
              {check.advice && <Notice kind={check.ok ? 'note' : 'error'}>{check.advice}</Notice>}
            </li>
          ))}
        </ul>
        <div className="jp-Aide-buttons">
          <span className="jp-Aide-quiet">{trans.__('Looked at: %1', when(doctor.at))}</span>
          <span className="jp-Aide-space" />
          <Button disabled={action.busy} onClick={() => action.run(() => aide.examine())}>
            {action.busy ? trans.__('Looking…') : trans.__('Look again')}
          </Button>
        </div>
        <Problem error={action.error} onClose={action.clear} />
      </div>
    </details>
  );
}
