import * as React from 'react';

import { bytes, duration, when } from '../format';
import type { FollowedRun } from '../followed';
import type { CandidateView, Fact, GradeView, OutputView } from '../types';
import { Program } from './code';
import { useFetched, useHost, useSignal } from './host';
import { Facts, Literal, Loading, Notice, Problem, Tabs } from './parts';
import { Flags } from './question';
import { BranchForm } from './steer';

type Tab = 'about' | 'code' | 'output' | 'facts';

/** All about the selected candidate. */
export function CandidatePane({ run, id }: { run: FollowedRun; id: string }): JSX.Element {
  const { trans } = useHost();
  const [tab, setTab] = React.useState<Tab>('about');
  const changed = run.node(id)?.changed;
  const { value, error } = useFetched(() => run.candidate(id), [run, id, changed]);
  const view = value?.node.id === id ? value : null;
  if (view === null) {
    return error ? <Problem error={error} /> : <Loading lines={5} label={trans.__('Loading the candidate')} />;
  }
  return (
    <section className="jp-Aide-candidate" aria-label={trans.__('Candidate %1', id)}>
      <h2>
        {view.node.best && <span title={trans.__('The best so far')}>★ </span>}
        {view.headline}
      </h2>
      {view.node.value_text && (
        <p className="jp-Aide-status">
          <strong className="jp-Aide-number">{view.node.value_text}</strong>
          {view.node.source && <span className="jp-Aide-label">{view.node.source}</span>}
        </p>
      )}
      {view.error_shown && (
        <Notice kind="error" title={trans.__('There is no program')}>
          <Literal text={view.error_shown} />
        </Notice>
      )}
      <Tabs<Tab>
        label={trans.__('About this candidate')}
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: 'about', label: trans.__('Plan') },
          { id: 'code', label: trans.__('Program') },
          { id: 'output', label: trans.__('Output') },
          { id: 'facts', label: trans.__('Record') }
        ]}
      >
        {tab === 'about' && <About view={view} />}
        {tab === 'code' && <ProgramTab view={view} />}
        {tab === 'output' && <Output run={run} view={view} />}
        {tab === 'facts' && <Record view={view} />}
      </Tabs>
      {run.state?.actions.includes('branch') && view.code && <BranchForm run={run} candidate={id} />}
    </section>
  );
}

function About({ view }: { view: CandidateView }): JSX.Element {
  const { trans } = useHost();
  return (
    <>
      {view.plan_shown ? (
        <Literal text={view.plan_shown} />
      ) : (
        <p className="jp-Aide-quiet">{trans.__('The author has not written a plan yet.')}</p>
      )}
      {view.review && (
        <div className="jp-Aide-claim">
          <h3>
            {view.review.failed ? trans.__('The reviewer found a fault') : trans.__('What the reviewer made of it')}
          </h3>
          <Literal text={view.review.shown} />
          <p className="jp-Aide-quiet">{trans.__('A claim of %1', view.review.by)}</p>
        </div>
      )}
    </>
  );
}

function ProgramTab({ view }: { view: CandidateView }): JSX.Element {
  const { trans } = useHost();
  return (
    <>
      <Flags flags={view.flags} taints={view.taints} />
      {view.code ? (
        <Program code={view.code} before={view.parent_code} beforeWords={view.parent_words} />
      ) : (
        <p className="jp-Aide-quiet">{trans.__('There is no program yet.')}</p>
      )}
    </>
  );
}

function Output({ run, view }: { run: FollowedRun; view: CandidateView }): JSX.Element {
  const { trans } = useHost();
  useSignal(run.printed);
  const running = run.output(view.node.id);
  if (view.claimed) {
    return (
      <>
        <p className="jp-Aide-quiet">{trans.__('Claimed by the program: it can print anything.')}</p>
        {view.claimed.truncated_bytes > 0 && (
          <Notice kind="note">
            {trans.__('%1 of its output were not kept.', bytes(view.claimed.truncated_bytes))}
          </Notice>
        )}
        {view.claimed.outputs.length === 0 && <p className="jp-Aide-quiet">{trans.__('It printed nothing.')}</p>}
        {view.claimed.outputs.map((output, place) => (
          <OneOutput key={place} run={run} output={output} />
        ))}
      </>
    );
  }
  if (view.node.standing === 'running') {
    return (
      <>
        <p className="jp-Aide-quiet">{trans.__('It is running. What it has printed so far:')}</p>
        {running?.cut && <p className="jp-Aide-quiet">{trans.__('(The beginning is left out.)')}</p>}
        <Following text={running?.text ?? ''} />
      </>
    );
  }
  return <p className="jp-Aide-quiet">{trans.__('It has not run.')}</p>;
}

/** Running output, kept at its end unless the person has scrolled away from it. */
function Following({ text }: { text: string }): JSX.Element {
  const { trans } = useHost();
  const place = React.useRef<HTMLPreElement>(null);
  const atEnd = React.useRef(true);
  React.useLayoutEffect(() => {
    if (atEnd.current && place.current) {
      place.current.scrollTop = place.current.scrollHeight;
    }
  }, [text]);
  return (
    <pre
      ref={place}
      className="jp-Aide-pre"
      tabIndex={0}
      aria-label={trans.__('Running output')}
      onScroll={({ currentTarget: at }) => {
        atEnd.current = at.scrollTop + at.clientHeight >= at.scrollHeight - 8;
      }}
    >
      {text || trans.__('(nothing yet)')}
    </pre>
  );
}

function OneOutput({ run, output }: { run: FollowedRun; output: OutputView }): JSX.Element {
  const { trans } = useHost();
  if (output.image !== null) {
    return <Picture run={run} sha256={output.image} />;
  }
  const error = output.type === 'error' || output.name === 'stderr';
  return (
    <div className={error ? 'jp-Aide-stderr' : undefined}>
      {error && <span className="jp-Aide-quiet">{output.type === 'error' ? trans.__('Error') : output.name}</span>}
      <Literal code text={output.shown} label={error ? trans.__('Error output') : trans.__('Output')} />
    </div>
  );
}

/** A picture that the server has checked to be a PNG, fetched with the page's own rights. */
function Picture({ run, sha256 }: { run: FollowedRun; sha256: string }): JSX.Element {
  const { trans } = useHost();
  const { value, error } = useFetched(() => run.api.blob(run.run, sha256), [run, sha256]);
  const [url, setUrl] = React.useState<string | null>(null);
  React.useEffect(() => {
    if (value === null) {
      return undefined;
    }
    const made = URL.createObjectURL(new Blob([value], { type: 'image/png' }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [value]);
  if (error) {
    return <Problem error={error} />;
  }
  return url === null ? (
    <Loading label={trans.__('Loading a picture')} />
  ) : (
    <img className="jp-Aide-picture" src={url} alt={trans.__('A picture made by the program')} />
  );
}

function Record({ view }: { view: CandidateView }): JSX.Element {
  const { trans } = useHost();
  const { observed, claimed, provenance } = view;
  const fact = (name: string, shown: string): Fact => ({ name, shown });
  const grade = (name: string, found: GradeView | null): Fact[] =>
    found === null ? [] : [fact(name, found.error ? `${found.words}: ${found.error}` : found.words)];
  const author: Fact[] = [
    fact(trans.__('Written by'), provenance.author),
    ...(provenance.model ? [fact(trans.__('Model'), provenance.model)] : []),
    fact(trans.__('Chosen by'), provenance.chosen_by),
    ...(provenance.proposed_at ? [fact(trans.__('Proposed'), when(provenance.proposed_at))] : []),
    fact(
      trans.__('Tokens'),
      trans.__(
        '%1 in, %2 out',
        provenance.prompt_tokens.toLocaleString(),
        provenance.completion_tokens.toLocaleString()
      )
    ),
    fact(trans.__('Cost'), provenance.cost_words)
  ];
  const decided: Fact[] = provenance.decision
    ? [
        fact(trans.__('Decision'), provenance.decision),
        fact(trans.__('By'), provenance.decided_by),
        fact(trans.__('At'), when(provenance.decided_at)),
        ...(provenance.decided_mode ? [fact(trans.__('Review mode'), provenance.decided_mode)] : []),
        ...(provenance.decided_purposes.length
          ? [fact(trans.__('Covers'), provenance.decided_purposes.join(', '))]
          : []),
        ...(provenance.reason_shown ? [fact(trans.__('Reason'), provenance.reason_shown)] : [])
      ]
    : [];
  return (
    <>
      {observed && (
        <div className="jp-Aide-observed">
          <h3>{trans.__('Observed by the server')}</h3>
          <Facts
            facts={[
              fact(trans.__('Ended'), observed.limit ? `${observed.status} (${observed.limit})` : observed.status),
              fact(trans.__('Took'), duration(observed.seconds)),
              fact(trans.__('Peak memory'), bytes(observed.peak_memory_bytes)),
              ...observed.facts
            ]}
          />
          {observed.files.length > 0 && (
            <>
              <h4>{trans.__('Files it left')}</h4>
              <Facts facts={observed.files} />
            </>
          )}
        </div>
      )}
      {claimed && (
        <div className="jp-Aide-claim">
          <h3>{trans.__('Claimed by the program')}</h3>
          <Facts
            facts={[
              fact(trans.__('Its reply'), claimed.reply),
              fact(trans.__('The metric that it printed'), claimed.metric_text || trans.__('none')),
              ...(claimed.masks ? [fact(trans.__('Masked secrets'), String(claimed.masks))] : [])
            ]}
          />
        </div>
      )}
      {(view.grade || view.final) && (
        <>
          <h3>{trans.__('Score')}</h3>
          <Facts facts={[...grade(trans.__('Selection'), view.grade), ...grade(trans.__('Final'), view.final)]} />
        </>
      )}
      <h3>{trans.__('Where it comes from')}</h3>
      <Facts facts={author} />
      {decided.length > 0 && (
        <>
          <h3>{trans.__('Who decided')}</h3>
          <Facts facts={decided} />
        </>
      )}
      {view.facts.length > 0 && (
        <>
          <h3>{trans.__('More')}</h3>
          <Facts facts={view.facts} />
        </>
      )}
    </>
  );
}
