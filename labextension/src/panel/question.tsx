import * as React from 'react';

import { short } from '../format';
import type { FlagView, Question } from '../types';
import { useHost } from './host';
import { Button, Facts, Field, Literal, Section } from './parts';

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

/** A person's answer to a question, as far as it has come. */
export interface IAnswer {
  readonly mode: 'look' | 'edit' | 'reject';
  readonly reason: string;
  /** Whether the person has said that they have read a program of high risk. */
  readonly read: boolean;
  /** A decision is on its way. */
  readonly busy: boolean;
  set(change: Partial<Pick<IAnswer, 'mode' | 'reason' | 'read'>>): void;
  edit(): void;
  discard(): void;
  approve(): Promise<unknown>;
  approveEdit(): Promise<unknown>;
  reject(): Promise<unknown>;
}

interface ICard {
  question: Question;
  answer: IAnswer;
  /** What is said beside the candidate's name. */
  beside: string;
  heading?: React.Ref<HTMLHeadingElement>;
  onDetails: () => void;
  /** The program, in whatever way this card shows it. */
  children: React.ReactNode;
}

/** A program that waits for a person, in the panel and in its cell. Approve never has the initial focus. */
export function QuestionCard({ question, answer, beside, heading, onDetails, children }: ICard): JSX.Element {
  const { trans } = useHost();
  const id = React.useId();
  return (
    <section
      className={`jp-Aide-card ${question.high_risk ? 'jp-mod-highRisk' : ''}`}
      aria-labelledby={id}
      data-candidate={question.candidate}
      tabIndex={-1}
    >
      <header>
        <h3 id={id} tabIndex={-1} ref={heading}>
          {question.high_risk ? trans.__('⚠ Look closely: %1', question.candidate) : question.candidate}
          {beside && <span className="jp-Aide-quiet"> {beside}</span>}
        </h3>
        <button type="button" className="jp-Aide-link" onClick={onDetails}>
          {trans.__('Details')}
        </button>
      </header>
      <p className="jp-Aide-why">{question.why}</p>
      <Flags flags={question.flags} taints={question.taints} />
      {children}
      <Section title={trans.__('What it will be able to do')} open={question.high_risk}>
        <Facts facts={question.capabilities} />
      </Section>
      {question.plan_shown && (
        <Section title={trans.__('The model’s own explanation (a claim)')}>
          <Literal text={question.plan_shown} />
        </Section>
      )}
      <p className="jp-Aide-quiet">
        {question.purposes_words} {trans.__('What runs:')}{' '}
        <code title={question.code.sha256}>{`sha256 ${short(question.code.sha256)}…`}</code>
      </p>
      <Decide question={question} answer={answer} />
    </section>
  );
}

function Decide({ question, answer }: { question: Question; answer: IAnswer }): JSX.Element {
  const { trans } = useHost();
  const ready = useGuard(`${question.nonce} ${question.code.sha256}`) && !answer.busy;
  const high = question.high_risk;
  if (answer.mode === 'edit') {
    return (
      <div className="jp-Aide-buttons">
        <Button disabled={answer.busy} onClick={() => answer.discard()}>
          {trans.__('Discard the edit')}
        </Button>
        <span className="jp-Aide-space" />
        <Button kind="main" disabled={!ready} onClick={() => void answer.approveEdit()}>
          {trans.__('Approve the edit')}
        </Button>
      </div>
    );
  }
  if (answer.mode === 'reject') {
    return (
      <form
        onSubmit={event => {
          event.preventDefault();
          void answer.reject();
        }}
      >
        <Field label={trans.__('Why? The author is told.')}>
          {ties => (
            <textarea
              {...ties}
              rows={3}
              maxLength={8000}
              value={answer.reason}
              autoFocus
              onChange={event => answer.set({ reason: event.target.value })}
            />
          )}
        </Field>
        <div className="jp-Aide-buttons">
          <Button disabled={answer.busy} onClick={() => answer.set({ mode: 'look' })}>
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
          <input type="checkbox" checked={answer.read} onChange={event => answer.set({ read: event.target.checked })} />
          {trans.__('I have read the program and the reasons above.')}
        </label>
      )}
      <div className="jp-Aide-buttons">
        <Button disabled={!ready} onClick={() => answer.set({ mode: 'reject' })}>
          {trans.__('Reject…')}
        </Button>
        <Button disabled={!ready} onClick={() => answer.edit()}>
          {trans.__('Edit…')}
        </Button>
        <span className="jp-Aide-space" />
        <Button
          kind={high ? 'danger' : 'main'}
          disabled={!ready || (high && !answer.read)}
          onClick={() => void answer.approve()}
        >
          {trans.__('Approve')}
        </Button>
      </div>
    </>
  );
}
