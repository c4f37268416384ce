import * as React from 'react';

import { clock, when } from '../format';
import type { FollowedRun } from '../followed';
import type { Meter, RunState } from '../types';
import { CandidatePane } from './candidate';
import { ScoreChart } from './chart';
import { useAction, useHost, useRun, useSeconds } from './host';
import { Button, Facts, Literal, Loading, Notice, Phase, Problem, Section } from './parts';
import { Results } from './results';
import { ReviewQueue } from './review';
import { Steer } from './steer';
import { Tree } from './tree';

/** The run that the panel shows. */
export function RunPage(): JSX.Element {
  const { aide, trans } = useHost();
  const run = useRun();
  if (run === null) {
    return <p className="jp-Aide-quiet">{trans.__('No run is chosen.')}</p>;
  }
  const state = run.state;
  if (state === null) {
    return run.error ? (
      <>
        <Problem error={run.error} />
        <Button onClick={() => run.refresh()}>{trans.__('Try again')}</Button>
      </>
    ) : (
      <Loading lines={8} label={trans.__('Loading the run')} />
    );
  }
  const candidate = aide.place.candidate ?? state.best?.id ?? null;
  const begun = state.phase !== 'preparing' && state.phase !== 'failed';
  return (
    <div className="jp-Aide-run">
      <Connection run={run} />
      <Head run={run} state={state} />
      {begun && (
        <>
          <ReviewQueue run={run} />
          <Progress run={run} state={state} />
          <Best state={state} />
          <div className="jp-Aide-columns">
            <div>
              <h2 className="jp-Aide-visuallyHidden">{trans.__('Score over time')}</h2>
              <ScoreChart points={state.points} metric={state.metric} direction={state.direction_words} />
              <h2>
                {trans.__('Candidates')}
                <span className="jp-Aide-count">{state.candidates}</span>
                {state.failed > 0 && <span className="jp-Aide-quiet"> {trans.__('%1 failed', state.failed)}</span>}
              </h2>
              <Tree nodes={state.nodes} selected={candidate} onSelect={id => aide.go({ candidate: id })} />
              <Steer run={run} />
            </div>
            {candidate !== null && run.node(candidate) && (
              <div onFocus={() => aide.place.candidate ?? aide.go({ candidate })}>
                <CandidatePane key={candidate} run={run} id={candidate} />
              </div>
            )}
          </div>
          <About state={state} />
        </>
      )}
    </div>
  );
}

/** What is known of the connection, only where something is wrong with it. */
function Connection({ run }: { run: FollowedRun }): JSX.Element | null {
  const { trans } = useHost();
  const [late, setLate] = React.useState(false);
  const lost = !run.live.connected;
  // A connection that is made within a second or two is not worth a word.
  React.useEffect(() => {
    const timer = window.setTimeout(() => setLate(lost), lost ? 2000 : 0);
    return () => window.clearTimeout(timer);
  }, [lost]);
  if (run.error) {
    return <Problem error={run.error} />;
  }
  return lost && late ? (
    <Notice kind="warning" title={trans.__('The connection is lost')}>
      <p>{trans.__('The run goes on. This page connects again by itself.')}</p>
    </Notice>
  ) : null;
}

function Head({ run, state }: { run: FollowedRun; state: RunState }): JSX.Element {
  const { trans, openNotebook } = useHost();
  const lasting = useAction();
  return (
    <header className="jp-Aide-head">
      <h1 title={state.title}>{state.title}</h1>
      <div role="status">
        <Phase phase={state.phase} words={state.phase_words} />
      </div>
      {state.phase === 'preparing' && (
        <p className="jp-Aide-preparing">
          <span className="jp-Aide-spin" aria-hidden="true" />
          {state.preparing}
        </p>
      )}
      {state.owner === 'elsewhere' && <p className="jp-Aide-quiet">{state.owner_words}</p>}
      {state.problems.map((problem, place) => (
        <Notice key={place} kind="warning">
          {problem}
        </Notice>
      ))}
      <div className="jp-Aide-buttons">
        <Controls run={run} state={state} action={lasting} />
        {state.notebook !== null && (
          <Button onClick={() => void openNotebook(state.notebook!)}>{trans.__('Open notebook')}</Button>
        )}
      </div>
      <Problem error={lasting.error} onClose={lasting.clear} />
    </header>
  );
}

interface IControls {
  run: FollowedRun;
  state: RunState;
  action: ReturnType<typeof useAction>;
}

function Controls({ run, state, action }: IControls): JSX.Element {
  const { trans, confirm } = useHost();
  const can = (verb: RunState['actions'][number]) => state.actions.includes(verb);
  const simple = (verb: 'pause' | 'resume' | 'stop' | 'stop-now') => action.run(() => run.control({ verb }));
  const stop = async () => {
    const sure = await confirm(
      trans.__('Stop the run?'),
      trans.__('Nothing new starts, and programs that wait are rejected. What runs finishes. It cannot be resumed.'),
      trans.__('Stop')
    );
    return sure && simple('stop');
  };
  const stopNow = async () => {
    const sure = await confirm(
      trans.__('Stop at once?'),
      trans.__('Programs that run are killed now, and the run is closed. It cannot be resumed.'),
      trans.__('Stop at once')
    );
    return sure && simple('stop-now');
  };
  return (
    <>
      {can('pause') && (
        <Button disabled={action.busy} onClick={() => simple('pause')}>
          {trans.__('Pause')}
        </Button>
      )}
      {can('resume') && (
        <Button kind="main" disabled={action.busy} onClick={() => simple('resume')}>
          {trans.__('Resume')}
        </Button>
      )}
      {can('stop') && (
        <Button disabled={action.busy} onClick={() => void stop()}>
          {trans.__('Stop…')}
        </Button>
      )}
      {can('stop-now') && (
        <Button disabled={action.busy} onClick={() => void stopNow()}>
          {trans.__('Stop at once…')}
        </Button>
      )}
    </>
  );
}

function Progress({ run, state }: { run: FollowedRun; state: RunState }): JSX.Element {
  const { trans } = useHost();
  useSeconds(state.ticking);
  return (
    <div className="jp-Aide-meters">
      {state.meters.map(meter => (
        <OneMeter
          key={meter.name}
          meter={meter.name === 'time' ? { ...meter, used: run.elapsed() } : meter}
          words={
            meter.name === 'time' && state.ticking && meter.limit !== null
              ? trans.__('%1 of %2', clock(run.elapsed()), clock(meter.limit))
              : meter.words
          }
        />
      ))}
      {state.limits_reached.map((limit, place) => (
        <Notice key={place} kind="note">
          {limit}
        </Notice>
      ))}
    </div>
  );
}

function OneMeter({ meter, words }: { meter: Meter; words: string }): JSX.Element {
  const id = React.useId();
  return (
    <div className={`jp-Aide-meter ${meter.reached ? 'jp-mod-reached' : ''}`} data-meter={meter.name}>
      <span id={id}>{meter.label}</span>
      <span className="jp-Aide-meterWords">{words}</span>
      {meter.limit !== null && (
        <progress aria-labelledby={id} max={meter.limit} value={Math.min(meter.used, meter.limit)} />
      )}
    </div>
  );
}

function Best({ state }: { state: RunState }): JSX.Element {
  const { aide, trans } = useHost();
  const best = state.best;
  return (
    <div className="jp-Aide-best">
      {best === null ? (
        <p className="jp-Aide-quiet">{trans.__('There is no best program yet.')}</p>
      ) : (
        <button
          type="button"
          className="jp-Aide-bestButton"
          onClick={() => aide.go({ candidate: best.id })}
          title={trans.__('Show the best program')}
        >
          <span className="jp-Aide-bestTitle">{trans.__('Best: %1', best.id)}</span>
          <strong className="jp-Aide-number">{best.value_text}</strong>
          <span>
            {best.metric} <span className="jp-Aide-label">{best.source}</span>
          </span>
          <span className="jp-Aide-quiet">{best.source_words}</span>
        </button>
      )}
      <Results state={state} />
    </div>
  );
}

function About({ state }: { state: RunState }): JSX.Element {
  const { trans } = useHost();
  return (
    <>
      <Section title={trans.__('About this run')}>
        <h3>{trans.__('Goal')}</h3>
        <Literal text={state.goal} />
        {state.evaluation && (
          <>
            <h3>{trans.__('Evaluation')}</h3>
            <Literal text={state.evaluation} />
          </>
        )}
        <Facts
          facts={[
            ...state.facts,
            { name: trans.__('Begun'), shown: when(state.created) },
            { name: trans.__('Model calls'), shown: String(state.calls) },
            { name: trans.__('Folder'), shown: state.folder },
            { name: trans.__('Signing key'), shown: state.key }
          ]}
        />
      </Section>
      {state.events.length > 0 && (
        <Section title={trans.__('What happened')} count={state.events.length}>
          <ol className="jp-Aide-events">
            {state.events.map((event, place) => (
              <li key={place}>
                <span className="jp-Aide-quiet">
                  {when(event.time)} · {event.who}
                </span>
                <span>{event.shown}</span>
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}
