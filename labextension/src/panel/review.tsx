import * as React from 'react';

import { ApiError } from '../api';
import type { FollowedRun } from '../followed';
import type { FlagView, Question } from '../types';
import { Editor, Program } from './code';
import { IAttention, useAction, useHost } from './host';
import { Button, Facts, Field, Literal, Notice, Problem, Section } from './parts';

/** Milliseconds after a card has appeared in which it takes no decision: a click may have been meant for what was
 * there before. */
export const GUARD = 500;

/** False until a card has been there for a moment, and again when what it asks is another. */
export function useGuard(what: string): boolean {
  const [passed, setPassed] = React.useState<string | null>(null);
  React.useEffect(() => {
    const timer = window.setTimeout(() => setPassed(what), GUARD);
    return () => window.clearTimeout(timer);
  }, [what]);
  return passed === what;
}

/** Why to look: each flag with its line and how serious it is. */
export function Flags({
  flags,
  taints
}: {
  flags: readonly FlagView[];
  taints: readonly string[];
}): JSX.Element | null {
  const { trans } = useHost();
  if (!flags.length && !taints.length) {
    return null;
  }
  return (
    <ul className="jp-Aide-flags">
      {flags.map((flag, place) => (
        <li key={place} className={`jp-mod-${flag.severity}`}>
          <span className="jp-Aide-flagKind">
            {flag.severity === 'danger' ? trans.__('⚑ Danger') : trans.__('⚐ Note')}
          </span>
          <span>
            {flag.line > 0 && <>{trans.__('Line %1:', flag.line)} </>}
            {flag.message}
          </span>
        </li>
      ))}
      {taints.map((taint, place) => (
        <li key={`taint${place}`} className="jp-mod-danger">
          <span className="jp-Aide-flagKind">{trans.__('⚑ Tainted')}</span>
          <span>{taint}</span>
        </li>
      ))}
    </ul>
  );
}

interface ICard {
  run: FollowedRun;
  question: Question;
  /** Told what came of a decision, in words. */
  onDone: (words: string, error: ApiError | null) => void;
}

/** A program that waits for a person. Approve never has the initial focus. */
export function ReviewCard({ run, question, onDone }: ICard): JSX.Element {
  const { aide, trans, attention, wish } = useHost();
  const action = useAction();
  const [mode, setMode] = React.useState<'look' | 'edit' | 'reject'>('look');
  const [edited, setEdited] = React.useState(question.code.exact);
  const [reason, setReason] = React.useState('');
  const [read, setRead] = React.useState(false);
  const ready = useGuard(`${question.nonce} ${question.code.sha256}`) && !action.busy;
  const heading = React.useRef<HTMLHeadingElement>(null);
  const node = run.node(question.candidate);
  const card = `jp-aide-card-${question.candidate}`;

  React.useEffect(() => {
    const look = () => {
      const wanted = wish?.current;
      if (!wanted || wanted.candidate !== question.candidate) {
        return;
      }
      wish.current = null;
      if (wanted.answer === 'edit' || wanted.answer === 'reject') {
        setMode(wanted.answer);
      }
      heading.current?.scrollIntoView({ block: 'start' });
      heading.current?.focus();
    };
    look();
    attention.connect(look);
    return () => {
      attention.disconnect(look);
    };
  }, [attention, wish, question.candidate]);

  const decide = (decision: 'approve' | 'edit' | 'reject', why = '', code?: string) =>
    action.run(async () => {
      try {
        const reply = await run.decide(question, decision, why, code);
        onDone(reply.words, null);
      } catch (error) {
        onDone('', error instanceof ApiError ? error : new ApiError(0, { message: String(error) }));
      }
    });

  return (
    <section
      className={`jp-Aide-card ${question.high_risk ? 'jp-mod-highRisk' : ''}`}
      aria-labelledby={card}
      data-candidate={question.candidate}
    >
      <header>
        <h3 id={card} tabIndex={-1} ref={heading}>
          {question.high_risk ? trans.__('⚠ Look closely: %1', question.candidate) : question.candidate}
          {node && <span className="jp-Aide-quiet"> {node.operator}</span>}
        </h3>
        <button
          type="button"
          className="jp-Aide-link"
          onClick={() => aide.go({ page: 'run', run: run.run, candidate: question.candidate })}
        >
          {trans.__('Details')}
        </button>
      </header>
      <p className="jp-Aide-why">{question.why}</p>
      <Flags flags={question.flags} taints={question.taints} />
      {mode === 'edit' ? (
        <div className="jp-Aide-program">
          <span className="jp-Aide-quiet">{trans.__('Your edit runs in place of the program above.')}</span>
          <Editor text={question.code.exact} label={trans.__('Your edit of the program')} onChange={setEdited} />
        </div>
      ) : (
        <Program
          code={question.code}
          before={question.compared_code}
          beforeWords={trans.__('What changed since %1', question.compared_with ?? '')}
        />
      )}
      <Section title={trans.__('What it will be able to do')} open={question.high_risk}>
        <Facts facts={question.capabilities} />
      </Section>
      {question.plan_shown && (
        <Section title={trans.__('The model’s own explanation (a claim)')}>
          <Literal text={question.plan_shown} />
        </Section>
      )}
      <p className="jp-Aide-quiet">{question.purposes_words}</p>
      {mode === 'look' && (
        <>
          {question.high_risk && (
            <label className="jp-Aide-check">
              <input type="checkbox" checked={read} onChange={event => setRead(event.target.checked)} />
              {trans.__('I have read the program and the reasons above.')}
            </label>
          )}
          <div className="jp-Aide-buttons">
            <Button disabled={!ready} onClick={() => setMode('reject')}>
              {trans.__('Reject…')}
            </Button>
            <Button disabled={!ready} onClick={() => setMode('edit')}>
              {trans.__('Edit…')}
            </Button>
            <span className="jp-Aide-space" />
            <Button
              kind={question.high_risk ? 'danger' : 'main'}
              disabled={!ready || (question.high_risk && !read)}
              onClick={() => decide('approve')}
            >
              {trans.__('Approve')}
            </Button>
          </div>
        </>
      )}
      {mode === 'edit' && (
        <div className="jp-Aide-buttons">
          <Button
            disabled={action.busy}
            onClick={() => {
              setMode('look');
              setEdited(question.code.exact);
            }}
          >
            {trans.__('Discard the edit')}
          </Button>
          <span className="jp-Aide-space" />
          <Button
            kind="main"
            disabled={!ready || !edited.trim() || edited === question.code.exact}
            onClick={() => decide('edit', '', edited)}
          >
            {trans.__('Approve the edit')}
          </Button>
        </div>
      )}
      {mode === 'reject' && (
        <form
          onSubmit={event => {
            event.preventDefault();
            void decide('reject', reason);
          }}
        >
          <Field label={trans.__('Why? The author is told.')}>
            {ties => (
              <textarea {...ties} rows={3} value={reason} autoFocus onChange={event => setReason(event.target.value)} />
            )}
          </Field>
          <div className="jp-Aide-buttons">
            <Button disabled={action.busy} onClick={() => setMode('look')}>
              {trans.__('Cancel')}
            </Button>
            <span className="jp-Aide-space" />
            <Button kind="danger" type="submit" disabled={!ready}>
              {trans.__('Reject the program')}
            </Button>
          </div>
        </form>
      )}
    </section>
  );
}

/** Milliseconds that a decision which was taken stays confirmed. */
const CONFIRMED = 8000;

/** The programs that wait, one of them open. */
export function ReviewQueue({ run }: { run: FollowedRun }): JSX.Element | null {
  const { trans, attention } = useHost();
  const [chosen, setChosen] = React.useState<string | null>(null);
  const [done, setDone] = React.useState<{ words: string; error: ApiError | null } | null>(null);
  const questions = run.questions?.questions ?? [];
  const shown = questions.find(question => question.candidate === chosen) ?? questions[0];

  React.useEffect(() => {
    const look = (_: unknown, wanted: IAttention) => setChosen(wanted.candidate);
    attention.connect(look);
    return () => {
      attention.disconnect(look);
    };
  }, [attention]);

  React.useEffect(() => {
    if (done === null || done.error !== null) {
      return undefined;
    }
    const timer = window.setTimeout(() => setDone(null), CONFIRMED);
    return () => window.clearTimeout(timer);
  }, [done]);

  const waits = run.state?.waiting.length ?? 0;
  return (
    <div className="jp-Aide-queue" aria-live="polite">
      {done !== null &&
        (done.error ? (
          <Problem error={done.error} onClose={() => setDone(null)} />
        ) : (
          <Notice kind="success" onClose={() => setDone(null)}>
            {done.words}
          </Notice>
        ))}
      {run.questions?.elsewhere && <Notice kind="note">{run.questions.elsewhere}</Notice>}
      {waits > 0 && (
        <h2>{trans._n('%1 program waits for your decision', '%1 programs wait for your decision', waits)}</h2>
      )}
      {run.questions?.pace && <Notice kind="warning">{run.questions.pace}</Notice>}
      {questions.length > 1 && (
        <div className="jp-Aide-queueList" role="group" aria-label={trans.__('Programs that wait')}>
          {questions.map(question => (
            <button
              key={question.candidate}
              type="button"
              aria-pressed={question === shown}
              className={`jp-Aide-chip ${question.high_risk ? 'jp-mod-danger' : ''}`}
              onClick={() => setChosen(question.candidate)}
            >
              {question.high_risk ? `⚠ ${question.candidate}` : question.candidate}
            </button>
          ))}
        </div>
      )}
      {shown && (
        <ReviewCard
          key={`${shown.candidate} ${shown.code.sha256}`}
          run={run}
          question={shown}
          onDone={(words, error) => {
            setDone({ words, error });
            setChosen(null);
          }}
        />
      )}
    </div>
  );
}
