import * as React from 'react';

import { ApiError } from '../api';
import type { FollowedRun } from '../followed';
import type { Question } from '../types';
import { Editor, Program } from './code';
import { IAttention, useAction, useHost } from './host';
import { Notice, Problem } from './parts';
import { IAnswer, QuestionCard } from './question';

interface ICard {
  run: FollowedRun;
  question: Question;
  /** Told what came of a decision, in words. */
  onDone: (words: string, error: ApiError | null) => void;
}

/** A program that waits, with the whole of it in the card. */
export function ReviewCard({ run, question, onDone }: ICard): JSX.Element {
  const { aide, trans, attention, wish } = useHost();
  const action = useAction();
  const [begun, setBegun] = React.useState<Pick<IAnswer, 'mode' | 'reason' | 'read'>>({
    mode: 'look',
    reason: '',
    read: false
  });
  const edited = React.useRef(question.code.exact);
  const heading = React.useRef<HTMLHeadingElement>(null);
  const set: IAnswer['set'] = change => setBegun(before => ({ ...before, ...change }));

  React.useEffect(() => {
    const look = () => {
      const wanted = wish?.current;
      if (!wanted || wanted.candidate !== question.candidate) {
        return;
      }
      wish.current = null;
      if (wanted.answer === 'edit' || wanted.answer === 'reject') {
        set({ mode: wanted.answer });
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
  const answer: IAnswer = {
    ...begun,
    busy: action.busy,
    set,
    edit: () => {
      edited.current = question.code.exact;
      set({ mode: 'edit' });
    },
    discard: () => set({ mode: 'look' }),
    approve: () => decide('approve'),
    approveEdit: async () => {
      const code = edited.current;
      if (!code.trim() || code === question.code.exact) {
        onDone(
          '',
          new ApiError(409, { message: trans.__('The program is as it was proposed. Change it, or discard the edit.') })
        );
      } else {
        await decide('edit', '', code);
      }
    },
    reject: () => decide('reject', begun.reason)
  };
  return (
    <QuestionCard
      question={question}
      answer={answer}
      beside={run.node(question.candidate)?.operator ?? ''}
      heading={heading}
      onDetails={() => aide.go({ page: 'run', run: run.run, candidate: question.candidate })}
    >
      {begun.mode === 'edit' ? (
        <div className="jp-Aide-program">
          <span className="jp-Aide-quiet">{trans.__('Your edit runs in place of the program.')}</span>
          <Editor
            text={question.code.exact}
            label={trans.__('Your edit of the program')}
            focused
            onChange={text => (edited.current = text)}
          />
        </div>
      ) : (
        <Program
          code={question.code}
          before={question.compared_code}
          beforeWords={trans.__('What changed since %1', question.compared_with ?? '')}
          hashed={false}
        />
      )}
    </QuestionCard>
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
    <div className="jp-Aide-queue" aria-live="polite" tabIndex={-1}>
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
