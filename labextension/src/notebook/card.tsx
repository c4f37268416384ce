import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { FollowedRun } from '../followed';
import { Program } from '../panel/code';
import { useKeptFocus } from '../panel/focus';
import { Host, IHost, useHost, useSeconds, useSignal } from '../panel/host';
import { Notice, Problem, Section } from '../panel/parts';
import { QuestionCard } from '../panel/question';
import type { CellReview } from './review';
import { asShown } from './terminal';

/** Characters of running output that are in the page. */
const SHOWN = 20000;

/** A waiting program's review, below its cell. */
export function CellCard({ review }: { review: CellReview }): JSX.Element | null {
  useSignal(review.changed);
  return review.over ? null : <Card review={review} />;
}

function Card({ review }: { review: CellReview }): JSX.Element {
  const { aide, trans } = useHost();
  const part = useKeptFocus<HTMLDivElement>();
  const { question, mode } = review;
  const problem = <Problem error={review.error} onClose={() => review.dismiss()} />;
  const shown = review.isShown;
  const told = question.compared_code || question.code.hidden.length > 0 || !shown;
  return (
    <div ref={part}>
      {review.gone ? (
        <section className="jp-Aide-card" aria-label={question.candidate} tabIndex={-1}>
          {problem}
        </section>
      ) : (
        <QuestionCard
          question={question}
          answer={review}
          beside={trans.__('waits for your decision')}
          onDetails={() => aide.go({ page: 'run', candidate: question.candidate })}
        >
          {problem}
          {mode === 'edit' && (
            <p className="jp-Aide-quiet">{trans.__('Edit the cell above. Your edit runs in place of the program.')}</p>
          )}
          {mode !== 'edit' && !shown && (
            <Notice kind="warning">
              {trans.__('The cell above does not show the program that waits. What would run is shown here.')}
            </Notice>
          )}
          {mode !== 'edit' && told && (
            <Section
              title={
                question.compared_with
                  ? trans.__('What changed since %1', question.compared_with)
                  : trans.__('The program as it would run')
              }
              open={question.high_risk || question.code.hidden.length > 0 || !shown}
            >
              <Program
                code={question.code}
                before={question.compared_code}
                beforeWords={trans.__('What changed since %1', question.compared_with ?? '')}
                hashed={false}
              />
            </Section>
          )}
        </QuestionCard>
      )}
    </div>
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

/** What stands below a program in its cell. JupyterLab's keys for cells do not count in it. */
export class CellWidget extends ReactWidget {
  constructor(
    private readonly host: IHost,
    private readonly run: FollowedRun,
    private readonly candidate: string,
    private readonly review: () => CellReview | undefined
  ) {
    super();
    this.addClass('jp-AideCell');
    this.node.dataset.lmSuppressShortcuts = 'true';
    for (const event of ['keydown', 'mousedown', 'dblclick', 'contextmenu']) {
      this.node.addEventListener(event, happened => happened.stopPropagation());
    }
  }

  /** Put the focus on the card's heading. */
  look(): void {
    this.node.querySelector<HTMLElement>('h3')?.focus();
  }

  protected render(): JSX.Element {
    const review = this.review();
    return (
      <Host.Provider value={this.host}>
        {review !== undefined && !review.over ? (
          <CellCard review={review} />
        ) : (
          <RunningOutput run={this.run} candidate={this.candidate} />
        )}
      </Host.Provider>
    );
  }
}
