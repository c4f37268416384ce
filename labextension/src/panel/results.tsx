import * as React from 'react';

import type { Exported, RunState, VerifyReply } from '../types';
import { useAction, useHost } from './host';
import { Button, Notice, Problem } from './parts';

/** What a run leaves: the exported solution, the report, and the verdict about its log. */
export function Results({ state }: { state: RunState }): JSX.Element {
  const { aide, trans } = useHost();
  const action = useAction();
  const [exported, setExported] = React.useState<Exported | null>(null);
  const [verdict, setVerdict] = React.useState<VerifyReply | null>(null);
  return (
    <div className="jp-Aide-results">
      <div className="jp-Aide-buttons">
        {state.best !== null && (
          <Button
            disabled={action.busy}
            onClick={() => action.run(async () => setExported(await aide.api.exportBest(state.run)))}
          >
            {trans.__('Export best solution')}
          </Button>
        )}
        <Button
          disabled={action.busy}
          onClick={() => action.run(async () => setVerdict(await aide.api.verify(state.run)))}
        >
          {trans.__('Verify the log')}
        </Button>
        {state.report !== null && <OpenFile path={state.report} label={trans.__('Open report')} />}
        {exported === null && state.solution !== null && (
          <OpenFile path={state.solution} label={trans.__('Open solution')} />
        )}
      </div>
      {exported !== null && (
        <Notice kind="success" onClose={() => setExported(null)}>
          <p>{exported.words}</p>
          <OpenFile path={exported.path} label={trans.__('Open %1', exported.path.split('/').pop() ?? '')} />
        </Notice>
      )}
      {verdict !== null && <Verdict verdict={verdict} onClose={() => setVerdict(null)} />}
      <Problem error={action.error} onClose={action.clear} />
    </div>
  );
}

const KINDS = { 0: 'success', 1: 'error', 2: 'note', 3: 'warning' } as const;

/** What verifying a log has shown. */
export function Verdict({ verdict, onClose }: { verdict: VerifyReply; onClose?: () => void }): JSX.Element {
  const { trans } = useHost();
  const title = {
    0: trans.__('Intact'),
    1: trans.__('Altered'),
    2: trans.__('Intact so far: the run is not closed'),
    3: trans.__('Not anchored, or signed with a key that is not known here')
  }[verdict.code];
  const words = verdict.words.replace(/^[A-Z ]+: (.)/, (_, first: string) => first.toUpperCase());
  return (
    <div className="jp-Aide-verdict" data-verdict={verdict.code}>
      <Notice kind={KINDS[verdict.code]} title={title} onClose={onClose}>
        <p>{words}</p>
        {verdict.problems.length > 0 && (
          <ul className="jp-Aide-list">
            {verdict.problems.map((problem, place) => (
              <li key={place}>{problem}</li>
            ))}
          </ul>
        )}
        <p className="jp-Aide-quiet">
          {trans._n('%1 record', '%1 records', verdict.records)} · {trans.__('key %1', verdict.key)}
        </p>
      </Notice>
    </div>
  );
}

/** Opens a file of the run; names it where it lies outside of what this server shows. */
function OpenFile({ path, label }: { path: string; label: string }): JSX.Element {
  const { openNotebook } = useHost();
  return path.startsWith('/') ? (
    <code className="jp-Aide-path">{path}</code>
  ) : (
    <Button onClick={() => void openNotebook(path)}>{label}</Button>
  );
}
