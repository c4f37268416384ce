import * as React from 'react';

import { when } from '../format';
import type { RunSummary } from '../types';
import { useAction, useHost, useSignal } from './host';
import { Button, Loading, Phase, Problem } from './parts';
import { SandboxLine } from './sandbox';

/** All runs, and how to begin one. */
export function RunsPage(): JSX.Element {
  const { aide, trans } = useHost();
  useSignal(aide.changed);
  const { runs, error } = aide;
  return (
    <div className="jp-Aide-runs">
      <SandboxLine />
      {error !== null && (
        <>
          <Problem error={error} />
          <Button onClick={() => aide.refresh()}>{trans.__('Try again')}</Button>
        </>
      )}
      {runs === null && error === null && <Loading lines={4} label={trans.__('Loading the runs')} />}
      {runs !== null && runs.length === 0 && <Welcome />}
      {runs !== null && runs.length > 0 && (
        <>
          <div className="jp-Aide-buttons">
            <Button kind="main" onClick={() => aide.go({ page: 'new' })}>
              {trans.__('New run')}
            </Button>
            <TryExample />
          </div>
          <h2>
            {trans.__('Runs')}
            <span className="jp-Aide-count">{runs.length}</span>
          </h2>
          <ul className="jp-Aide-runList">
            {runs.map(run => (
              <RunRow key={run.run} run={run} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function RunRow({ run }: { run: RunSummary }): JSX.Element {
  const { aide, trans } = useHost();
  return (
    <li>
      <button
        type="button"
        className="jp-Aide-runRow"
        data-run={run.run}
        onClick={() => aide.go({ page: 'run', run: run.run })}
      >
        <span className="jp-Aide-runTitle" title={run.title}>
          {run.title}
        </span>
        <span className="jp-Aide-runBest">
          {run.best ? (
            <>
              <strong className="jp-Aide-number">{run.best.value_text}</strong>{' '}
              <span className="jp-Aide-label">{run.best.source}</span>
            </>
          ) : (
            <span className="jp-Aide-quiet">{trans.__('no score')}</span>
          )}
        </span>
        <Phase phase={run.phase} words={run.phase_words} />
        <span className="jp-Aide-quiet jp-Aide-runWhen">
          {run.steps_max > 0 && <>{trans.__('%1 of %2 steps', run.steps, run.steps_max)} · </>}
          {when(run.created)}
        </span>
      </button>
    </li>
  );
}

/** What a person sees who has not begun a run yet. */
function Welcome(): JSX.Element {
  const { aide, trans } = useHost();
  return (
    <div className="jp-Aide-welcome">
      <h2>{trans.__('A machine-learning engineer whose every step you can check')}</h2>
      <p>
        {trans.__(
          'Name a folder with data, a goal and a metric. An agent writes programs and searches for the best one. You see each program before it runs.'
        )}
      </p>
      <ul className="jp-Aide-list">
        <li>{trans.__('Each program runs in a kernel of its own that can reach nothing but its data.')}</li>
        <li>{trans.__('A score is read from what the program printed, and says so; no model reports it.')}</li>
        <li>{trans.__('The notebook that results is a log that anyone can verify.')}</li>
      </ul>
      <div className="jp-Aide-buttons">
        <TryExample main />
        <Button onClick={() => aide.go({ page: 'new' })}>{trans.__('New run')}</Button>
      </div>
      <p className="jp-Aide-quiet">{trans.__('The example needs no key and no network.')}</p>
    </div>
  );
}

/** Begins a run on the example data, with the author that needs no key. */
export function TryExample({ main = false }: { main?: boolean }): JSX.Element {
  const { aide, trans } = useHost();
  const action = useAction();
  const contained = aide.doctor?.ok !== false;
  return (
    <>
      <Button
        kind={main ? 'main' : 'plain'}
        disabled={action.busy || !contained}
        title={contained ? undefined : aide.doctor?.words}
        onClick={() =>
          action.run(async () => {
            const { run } = await aide.api.start({ example: true });
            aide.refresh();
            aide.go({ page: 'run', run });
          })
        }
      >
        {trans.__('Try the example')}
      </Button>
      <Problem error={action.error} onClose={action.clear} />
    </>
  );
}
