import * as React from 'react';

import type { FollowedRun } from '../followed';
import type { RunState } from '../types';
import { useAction, useHost } from './host';
import { Editor } from './code';
import { Button, Field, Notice, Problem, Section } from './parts';

type ReviewMode = RunState['mode'];

const PROGRAM = `import pandas as pd

train = pd.read_csv("input/train.csv")

print("Validation metric:", 0.0)
`;

/** What a person can tell a run while it goes on: words, another review mode, a program of their own. */
export function Steer({ run }: { run: FollowedRun }): JSX.Element | null {
  const { trans } = useHost();
  const actions = run.state?.actions ?? [];
  const can = (verb: 'hint' | 'mode' | 'propose') => actions.includes(verb);
  if (!can('hint') && !can('mode') && !can('propose')) {
    return null;
  }
  return (
    <Section title={trans.__('Steer the search')}>
      {can('mode') && <Mode run={run} />}
      {can('hint') && <HintForm run={run} />}
      {can('propose') && <OwnProgram run={run} />}
    </Section>
  );
}

function Mode({ run }: { run: FollowedRun }): JSX.Element {
  const { trans, confirm } = useHost();
  const action = useAction();
  const names: Record<ReviewMode, string> = {
    every: trans.__('Ask about every program'),
    flagged: trans.__('Ask about flagged programs'),
    auto: trans.__('Ask only about suspicious programs')
  };
  const order: ReviewMode[] = ['every', 'flagged', 'auto'];
  const state = run.state!;
  const choose = async (mode: ReviewMode) => {
    const looser = order.indexOf(mode) > order.indexOf(state.mode);
    if (
      looser &&
      !(await confirm(
        trans.__('Be asked less often?'),
        trans.__(
          '%1. Programs that wait now and would not be asked about then run at once. The sandbox is the same.',
          names[mode]
        ),
        trans.__('Switch')
      ))
    ) {
      return;
    }
    await action.run(() => run.control({ verb: 'mode', mode }));
  };
  return (
    <>
      <Field label={trans.__('Review')}>
        {ties => (
          <select {...ties} value={state.mode} onChange={event => void choose(event.target.value as ReviewMode)}>
            {order
              .filter(mode => mode === state.mode || state.modes.includes(mode))
              .map(mode => (
                <option key={mode} value={mode}>
                  {names[mode]}
                </option>
              ))}
          </select>
        )}
      </Field>
      <Problem error={action.error} onClose={action.clear} />
    </>
  );
}

function HintForm({ run }: { run: FollowedRun }): JSX.Element {
  const { trans } = useHost();
  const action = useAction();
  const [text, setText] = React.useState('');
  const [said, setSaid] = React.useState('');
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        void action.run(async () => {
          setSaid((await run.control({ verb: 'hint', text })).words);
          setText('');
        });
      }}
    >
      <Field label={trans.__('A hint for the next steps')}>
        {ties => (
          <textarea
            {...ties}
            rows={2}
            value={text}
            placeholder={trans.__('For example: the column “age” has wrong values above 120')}
            onChange={event => setText(event.target.value)}
          />
        )}
      </Field>
      <div className="jp-Aide-buttons">
        <span className="jp-Aide-space" />
        <Button type="submit" disabled={action.busy || !text.trim()}>
          {trans.__('Give the hint')}
        </Button>
      </div>
      {said && (
        <Notice kind="success" onClose={() => setSaid('')}>
          {said}
        </Notice>
      )}
      <Problem error={action.error} onClose={action.clear} />
      {run.state!.hints.length > 0 && (
        <ul className="jp-Aide-list">
          {run.state!.hints.map((hint, place) => (
            <li key={place}>{hint}</li>
          ))}
        </ul>
      )}
    </form>
  );
}

function OwnProgram({ run }: { run: FollowedRun }): JSX.Element {
  const { aide, trans } = useHost();
  const action = useAction();
  const [open, setOpen] = React.useState(false);
  const [plan, setPlan] = React.useState('');
  const [code, setCode] = React.useState(PROGRAM);
  const [parent, setParent] = React.useState('');
  if (!open) {
    return <Button onClick={() => setOpen(true)}>{trans.__('Add a program of your own…')}</Button>;
  }
  const send = () =>
    action.run(async () => {
      const reply = await run.control({ verb: 'propose', plan, code, parent: parent || null });
      setOpen(false);
      setPlan('');
      setCode(PROGRAM);
      if (reply.candidate) {
        aide.go({ candidate: reply.candidate });
      }
    });
  return (
    <form
      className="jp-Aide-own"
      onSubmit={event => {
        event.preventDefault();
        void send();
      }}
    >
      <h3>{trans.__('A program of your own')}</h3>
      <p className="jp-Aide-quiet">
        {trans.__(
          'A whole Python script. It reads ./input and prints “Validation metric: <number>”. It runs in the sandbox like any other.'
        )}
      </p>
      <Field label={trans.__('What it does')}>
        {ties => <input {...ties} type="text" value={plan} onChange={event => setPlan(event.target.value)} />}
      </Field>
      <Field label={trans.__('Made from')}>
        {ties => (
          <select {...ties} value={parent} onChange={event => setParent(event.target.value)}>
            <option value="">{trans.__('nothing: a draft')}</option>
            {run
              .state!.nodes.filter(node => node.standing === 'good' || node.standing === 'failed')
              .map(node => (
                <option key={node.id} value={node.id}>
                  {node.id} {node.value_text}
                </option>
              ))}
          </select>
        )}
      </Field>
      <Editor text={PROGRAM} label={trans.__('Your program')} onChange={setCode} />
      <p className="jp-Aide-quiet">{trans.__('Sending it approves it: it is yours.')}</p>
      <Problem error={action.error} onClose={action.clear} />
      <div className="jp-Aide-buttons">
        <Button onClick={() => setOpen(false)}>{trans.__('Cancel')}</Button>
        <span className="jp-Aide-space" />
        <Button kind="main" type="submit" disabled={action.busy || !code.trim()}>
          {trans.__('Run it')}
        </Button>
      </div>
    </form>
  );
}

/** The next candidate is made from this one. */
export function BranchForm({ run, candidate }: { run: FollowedRun; candidate: string }): JSX.Element {
  const { trans } = useHost();
  const action = useAction();
  const [open, setOpen] = React.useState(false);
  const [hint, setHint] = React.useState('');
  const [said, setSaid] = React.useState('');
  return (
    <div className="jp-Aide-branch">
      {said && (
        <Notice kind="success" onClose={() => setSaid('')}>
          {said}
        </Notice>
      )}
      {open ? (
        <form
          onSubmit={event => {
            event.preventDefault();
            void action.run(async () => {
              setSaid((await run.control({ verb: 'branch', candidate, hint })).words);
              setOpen(false);
              setHint('');
            });
          }}
        >
          <Field label={trans.__('What should be tried from %1? (optional)', candidate)}>
            {ties => (
              <textarea {...ties} rows={2} value={hint} autoFocus onChange={event => setHint(event.target.value)} />
            )}
          </Field>
          <Problem error={action.error} onClose={action.clear} />
          <div className="jp-Aide-buttons">
            <Button onClick={() => setOpen(false)}>{trans.__('Cancel')}</Button>
            <span className="jp-Aide-space" />
            <Button kind="main" type="submit" disabled={action.busy}>
              {trans.__('Branch')}
            </Button>
          </div>
        </form>
      ) : (
        <Button onClick={() => setOpen(true)}>{trans.__('Branch from here…')}</Button>
      )}
    </div>
  );
}
