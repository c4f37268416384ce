import * as React from 'react';

import { short } from '../format';
import type { FollowedRun } from '../followed';
import { Program } from '../panel/code';
import { useHost, useSeconds, useSignal } from '../panel/host';
import { Button, Facts, Literal, Notice, Problem, Section } from '../panel/parts';
import { Flags, useGuard } from '../panel/review';
import type { CellReview } from './review';
import { asShown } from './terminal';

/** Characters of running output that are in the page. */
const SHOWN = 20000;

/** A waiting program's review, below its cell. Approve never has the initial focus. */
export function CellCard({ review }: { review: CellReview }): JSX.Element | null {
  const { aide, trans } = useHost();
  useSignal(review.changed);
  const { question, mode, busy } = review;
  const ready = useGuard(`${question.nonce} ${question.code.sha256}`) && !busy;
  const name = `jp-aide-cell-${question.candidate}`;

  if (review.over) {
    return null;
  }
  const problem = <Problem error={review.error} onClose={() => review.dismiss()} />;
  if (review.gone) {
    return (
      <section className="jp-Aide-card" aria-label={question.candidate}>
        {problem}
      </section>
    );
  }
  return (
    <section
      className={`jp-Aide-card ${question.high_risk ? 'jp-mod-highRisk' : ''}`}
      aria-labelledby={name}
      data-candidate={question.candidate}
    >
      <header>
        <h3 id={name} tabIndex={-1}>
          {question.high_risk
            ? trans.__('⚠ Look closely: %1 waits for your decision', question.candidate)
            : trans.__('%1 waits for your decision', question.candidate)}
        </h3>
        <button
          type="button"
          className="jp-Aide-link"
          onClick={() => aide.go({ page: 'run', candidate: question.candidate })}
        >
          {trans.__('Details')}
        </button>
      </header>
      <p className="jp-Aide-why">{question.why}</p>
      <Flags flags={question.flags} taints={question.taints} />
      {problem}
      {mode !== 'edit' && !review.isShown && (
        <Notice kind="warning">
          {trans.__('The cell above does not show the program that waits. What would run is shown here.')}
        </Notice>
      )}
      {(question.compared_code || question.code.hidden.length > 0 || !review.isShown) && mode !== 'edit' && (
        <Section
          title={
            question.compared_with
              ? trans.__('What changed since %1', question.compared_with)
              : trans.__('The program as it would run')
          }
          open={question.high_risk || question.code.hidden.length > 0 || !review.isShown}
        >
          <Program
            code={question.code}
            before={question.compared_code}
            beforeWords={trans.__('What changed since %1', question.compared_with ?? '')}
          />
        </Section>
      )}
      <Section title={trans.__('What it will be able to do')} open={question.high_risk}>
        <Facts facts={question.capabilities} />
      </Section>
      {question.plan_shown && (
        <Section title={trans.__('The model’s own explanation (a claim)')}>
          <Literal text={question.plan_shown} />
        </Section>
      )}
      <p className="jp-Aide-quiet">
        {question.purposes_words} <code title={question.code.sha256}>{`sha256 ${short(question.code.sha256)}…`}</code>
      </p>
      <Decide review={review} ready={ready} />
    </section>
  );
}

function Decide({ review, ready }: { review: CellReview; ready: boolean }): JSX.Element {
  const { trans } = useHost();
  const { question, mode, busy } = review;
  const high = question.high_risk;
  if (mode === 'edit') {
    return (
      <>
        <p className="jp-Aide-quiet">{trans.__('Edit the cell above. Your edit runs in place of the program.')}</p>
        <div className="jp-Aide-buttons">
          <Button disabled={busy} onClick={() => review.discard()}>
            {trans.__('Discard the edit')}
          </Button>
          <span className="jp-Aide-space" />
          <Button kind="main" disabled={!ready} onClick={() => void review.approveEdit()}>
            {trans.__('Approve the edit')}
          </Button>
        </div>
      </>
    );
  }
  if (mode === 'reject') {
    return (
      <form
        onSubmit={event => {
          event.preventDefault();
          void review.reject();
        }}
      >
        <label className="jp-Aide-field">
          {trans.__('Why? The author is told.')}
          <textarea
            rows={3}
            maxLength={8000}
            value={review.reason}
            autoFocus
            onChange={event => review.set({ reason: event.target.value })}
          />
        </label>
        <div className="jp-Aide-buttons">
          <Button disabled={busy} onClick={() => review.set({ mode: 'look' })}>
            {trans.__('Cancel')}
          </Button>
          <span className="jp-Aide-space" />
          <Button kind="danger" type="submit" disabled={!ready}>
            {trans.__('Reject the program')}
          </Button>
        </div>
      </form>
    );
  }
  return (
    <>
      {high && (
        <label className="jp-Aide-check">
          <input type="checkbox" checked={review.read} onChange={event => review.set({ read: event.target.checked })} />
          {trans.__('I have read the program and the reasons above.')}
        </label>
      )}
      <div className="jp-Aide-buttons">
        <Button disabled={!ready} onClick={() => review.set({ mode: 'reject' })}>
          {trans.__('Reject…')}
        </Button>
        <Button disabled={!ready} onClick={() => review.edit()}>
          {trans.__('Edit…')}
        </Button>
        <span className="jp-Aide-space" />
        <Button
          kind={high ? 'danger' : 'main'}
          disabled={!ready || (high && !review.read)}
          onClick={() => void review.approve()}
        >
          {trans.__('Approve')}
        </Button>
      </div>
    </>
  );
}

/** What a running program has printed so far. It is in the page only: the notebook gets it once it is recorded. */
export function RunningOutput({ run, candidate }: { run: FollowedRun; candidate: string }): JSX.Element | null {
  const { trans } = useHost();
  useSignal(run.printed);
  useSeconds(true);
  const place = React.useRef<HTMLPreElement>(null);
  const following = React.useRef(true);
  const output = run.output(candidate);
  const text = output === undefined ? '' : asShown(output.text).slice(-SHOWN);
  React.useEffect(() => {
    if (following.current && place.current !== null) {
      place.current.scrollTop = place.current.scrollHeight;
    }
  }, [text]);
  if (output === undefined) {
    return null;
  }
  const age = Math.round((performance.now() - output.at) / 1000);
  return (
    <section className="jp-AideCell-output" aria-label={trans.__('Output of %1 so far', candidate)}>
      <p className="jp-Aide-quiet">
        {age < 3
          ? trans.__('Running. Output so far, not recorded yet:')
          : trans.__('Running. Output so far, the last of it %1 s ago, not recorded yet:', age)}
      </p>
      <pre
        ref={place}
        tabIndex={0}
        onScroll={event => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          following.current = scrollTop + clientHeight >= scrollHeight - 4;
        }}
      >
        {(output.cut || output.text.length > SHOWN ? '…' : '') + text}
      </pre>
    </section>
  );
}
