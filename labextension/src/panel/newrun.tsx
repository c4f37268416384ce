import { FileDialog } from '@jupyterlab/filebrowser';
import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';
import * as React from 'react';

import type { Cap, Columns, Form, Models } from '../types';
import { IValues, recalled, remembered, request, SCALES } from './form';
import { useAction, useFetched, useHost } from './host';
import { Button, Field, Loading, Notice, Problem, Section } from './parts';
import { TryExample } from './runs';
import { SandboxLine } from './sandbox';

const MEMORY = 'aide-jupyter:form';

/** The form for a new run, as it was filled in last. */
export function NewRunPage(): JSX.Element {
  const { aide, memory, trans } = useHost();
  const form = useFetched(() => aide.api.form(), []);
  const [asked, setAsked] = React.useState(0);
  const models = useFetched(() => aide.api.models(), [asked]);
  const kept = useFetched(async () => ({ values: (await memory?.fetch(MEMORY).catch(() => null)) ?? null }), [memory]);
  if (form.error) {
    return <Problem error={form.error} />;
  }
  if (form.value === null || kept.value === null) {
    return <Loading lines={8} label={trans.__('Loading the form')} />;
  }
  return (
    <NewRun
      form={form.value}
      first={recalled(kept.value.values, form.value)}
      models={models.value}
      onAskModels={() => setAsked(asked + 1)}
    />
  );
}

interface INewRun {
  form: Form;
  first: IValues;
  models: Models | null;
  onAskModels: () => void;
}

function NewRun({ form, first, models, onAskModels }: INewRun): JSX.Element {
  const { aide, memory, trans } = useHost();
  const [values, setValues] = React.useState(first);
  const action = useAction();
  const set = (change: Partial<IValues>) => setValues(before => ({ ...before, ...change }));
  const columns = useColumns(values.data);
  const mode = form.modes.find(one => one.value === values.review);
  const preview = form.previews.find(one => one.value === values.preview);

  // The column that is plainly to be predicted is filled in, unless the person has named one that is there.
  React.useEffect(() => {
    if (columns.value) {
      const known = columns.value.tables.some(table => table.columns.some(one => one.exact === values.target));
      if (!known) {
        set({ target: columns.value.target ?? '' });
      }
    }
  }, [columns.value]);

  const start = () =>
    action.run(async () => {
      const { run } = await aide.api.start(request(values));
      await memory?.save(MEMORY, remembered(values) as unknown as ReadonlyPartialJSONValue);
      aide.refresh();
      aide.go({ page: 'run', run });
    });

  return (
    <form
      className="jp-Aide-form"
      onSubmit={event => {
        event.preventDefault();
        void start();
      }}
    >
      <h1>{trans.__('New run')}</h1>
      {aide.doctor?.ok === false && <SandboxLine />}
      <DataField value={values.data} words={form.data_words} onChange={data => set({ data })} />
      <Problem error={columns.error} />
      <Field label={trans.__('Goal')}>
        {ties => (
          <textarea
            {...ties}
            rows={3}
            required
            value={values.goal}
            placeholder={trans.__('For example: predict which patients come back within 30 days')}
            onChange={event => set({ goal: event.target.value })}
          />
        )}
      </Field>
      <TargetField value={values.target} columns={columns.value} onChange={target => set({ target })} />
      <Field label={trans.__('Metric')}>
        {ties => (
          <select {...ties} value={values.metric} required onChange={event => set({ metric: event.target.value })}>
            <option value="" disabled>
              {trans.__('Choose one')}
            </option>
            <optgroup label={trans.__('Graded here, on hidden rows')}>
              {form.metrics.map(metric => (
                <option key={metric.value} value={metric.value}>
                  {metric.label} ({metric.description})
                </option>
              ))}
            </optgroup>
            <optgroup label={trans.__('Only reported by the program itself')}>
              <option value="minimize">{trans.__('what the goal says, lower is better')}</option>
              <option value="maximize">{trans.__('what the goal says, higher is better')}</option>
            </optgroup>
          </select>
        )}
      </Field>
      <ModelField value={values.model} models={models} onChange={model => set({ model })} onAsk={onAskModels} />
      <Field label={trans.__('Review')} hint={mode?.description}>
        {ties => (
          <select {...ties} value={values.review} onChange={event => set({ review: event.target.value })}>
            {form.modes.map(one => (
              <option key={one.value} value={one.value}>
                {one.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={trans.__('What models are told about the data')} hint={preview?.description}>
        {ties => (
          <select {...ties} value={values.preview} onChange={event => set({ preview: event.target.value })}>
            {form.previews.map(one => (
              <option key={one.value} value={one.value}>
                {one.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <NumberField
        cap={form.numbers.find(one => one.name === 'steps')}
        values={values}
        onChange={numbers => set({ numbers })}
      />
      <Section title={trans.__('Workers and budgets')}>
        {form.numbers
          .filter(one => one.name !== 'steps')
          .map(one => (
            <NumberField key={one.name} cap={one} values={values} onChange={numbers => set({ numbers })} />
          ))}
      </Section>
      {action.error?.message !== columns.error?.message && <Problem error={action.error} onClose={action.clear} />}
      <div className="jp-Aide-buttons jp-mod-sticky">
        <TryExample />
        <span className="jp-Aide-space" />
        <Button kind="main" type="submit" disabled={action.busy || !values.data.trim()}>
          {action.busy ? trans.__('Starting…') : trans.__('Start')}
        </Button>
      </div>
      <p className="jp-Aide-quiet">{trans.__('Runs are kept in %1.', form.runs_folder)}</p>
    </form>
  );
}

/** The columns of a folder, looked up when its name has rested for a moment. */
function useColumns(data: string): ReturnType<typeof useFetched<Columns | null>> {
  const { aide } = useHost();
  const [rested, setRested] = React.useState(data);
  React.useEffect(() => {
    const timer = window.setTimeout(() => setRested(data), 400);
    return () => window.clearTimeout(timer);
  }, [data]);
  return useFetched(async () => (rested.trim() ? aide.api.columns(rested.trim()) : null), [rested]);
}

interface IField {
  value: string;
  onChange: (value: string) => void;
}

function DataField({ value, words, onChange }: IField & { words: string }): JSX.Element {
  const { documents, trans } = useHost();
  const id = React.useId();
  const choose = async () => {
    const { button, value: chosen } = await FileDialog.getExistingDirectory({
      manager: documents!,
      title: trans.__('Choose the data folder'),
      defaultPath: value.startsWith('/') ? undefined : value
    });
    if (button.accept && chosen?.length) {
      onChange(chosen[0].path || '.');
    }
  };
  return (
    <div className="jp-Aide-field">
      <label htmlFor={id}>{trans.__('Data folder')}</label>
      <div className="jp-Aide-inline">
        <input
          id={id}
          type="text"
          required
          value={value}
          spellCheck={false}
          onChange={event => onChange(event.target.value)}
        />
        {documents && <Button onClick={() => void choose()}>{trans.__('Choose…')}</Button>}
      </div>
      <span className="jp-Aide-quiet">{words}</span>
    </div>
  );
}

function TargetField({ value, columns, onChange }: IField & { columns: Columns | null }): JSX.Element {
  const { trans } = useHost();
  const id = React.useId();
  const known = columns?.tables.filter(table => table.columns.length) ?? [];
  return (
    <div className="jp-Aide-field">
      <label htmlFor={id}>{trans.__('Column to predict')}</label>
      {known.length ? (
        <select id={id} value={value} onChange={event => onChange(event.target.value)}>
          <option value="">{trans.__('none: scores are then only reported')}</option>
          {known.map((table, place) => (
            <optgroup key={place} label={table.shown}>
              {table.columns.map((column, at) => (
                <option key={at} value={column.exact}>
                  {column.shown}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      ) : (
        <input id={id} type="text" value={value} spellCheck={false} onChange={event => onChange(event.target.value)} />
      )}
    </div>
  );
}

const OTHER = '\n';

interface IModelField extends IField {
  models: Models | null;
  onAsk: () => void;
}

function ModelField({ value, models, onChange, onAsk }: IModelField): JSX.Element {
  const { aide, trans } = useHost();
  const id = React.useId();
  const [typed, setTyped] = React.useState(false);
  const listed = models?.models.find(one => one.name === value);
  const other = typed || (models !== null && listed === undefined);
  const asked = useFetched(
    async () => (other && value.trim() ? ((await aide.api.models(value.trim())).models[0] ?? null) : null),
    [other, other ? value : '']
  );
  const about = listed ?? (other ? asked.value : null);
  const missing = models?.providers.filter(provider => !provider.ready) ?? [];
  return (
    <div className="jp-Aide-field">
      <label htmlFor={id}>{trans.__('Model')}</label>
      <select
        id={id}
        value={other ? OTHER : value}
        onChange={event => {
          setTyped(event.target.value === OTHER);
          onChange(event.target.value === OTHER ? '' : event.target.value);
        }}
      >
        {models === null && <option value={value}>{value}</option>}
        {models?.models.map(model => (
          <option key={model.name} value={model.name}>
            {model.ready ? `✓ ${model.name}` : trans.__('%1 (no key)', model.name)}
          </option>
        ))}
        {models?.any_allowed && <option value={OTHER}>{trans.__('Another one…')}</option>}
      </select>
      {other && (
        <input
          type="text"
          value={value}
          required
          autoFocus={typed}
          spellCheck={false}
          placeholder={trans.__('provider/name')}
          aria-label={trans.__('Name of the model')}
          onChange={event => onChange(event.target.value)}
        />
      )}
      {about && <span className="jp-Aide-quiet">{about.ready && about.price_words}</span>}
      {about && !about.ready && <Notice kind="warning">{about.advice}</Notice>}
      {models?.allowed_words && <span className="jp-Aide-quiet">{models.allowed_words}</span>}
      {missing.length > 0 && (
        <Section title={trans.__('How to use a model of a provider')}>
          <p>
            {trans.__('Keys live in the server only. Set the variable where Jupyter is started, and start it again.')}
          </p>
          <dl className="jp-Aide-facts">
            {models!.providers.map(provider => (
              <div key={provider.name}>
                <dt>
                  {provider.ready ? '✓ ' : ''}
                  {provider.name}
                </dt>
                <dd>{provider.ready ? trans.__('its key is set') : <code>{provider.variable}</code>}</dd>
              </div>
            ))}
          </dl>
          <Button onClick={onAsk}>{trans.__('Look again')}</Button>
        </Section>
      )}
    </div>
  );
}

interface INumber {
  cap: Cap | undefined;
  values: IValues;
  onChange: (numbers: IValues['numbers']) => void;
}

function NumberField({ cap, values, onChange }: INumber): JSX.Element | null {
  const { trans } = useHost();
  if (cap === undefined) {
    return null;
  }
  const labels: Record<Cap['name'], string> = {
    steps: trans.__('Steps'),
    workers: trans.__('Programs at the same time'),
    timeout: trans.__('Time of one program (minutes)'),
    max_time: trans.__('Time of the run (minutes)'),
    max_tokens: trans.__('Tokens'),
    max_cost: trans.__('Money (US dollars)'),
    memory: trans.__('Memory of one program (GB)')
  };
  const scale = SCALES[cap.name];
  const shown = (value: number | null) => (value === null ? undefined : Number((value / scale).toPrecision(6)));
  const most = shown(cap.cap);
  const usual = shown(cap.default);
  const whole = scale === 1 && cap.name !== 'max_cost';
  return (
    <Field
      label={labels[cap.name]}
      className="jp-mod-number"
      hint={most === undefined ? undefined : trans.__('at most %1', most.toLocaleString())}
    >
      {ties => (
        <input
          {...ties}
          type="number"
          min={whole ? 1 : 0}
          max={most}
          step={whole ? 1 : 'any'}
          value={values.numbers[cap.name] ?? ''}
          placeholder={usual === undefined ? trans.__('no limit') : String(usual)}
          onChange={event => onChange({ ...values.numbers, [cap.name]: event.target.value })}
        />
      )}
    </Field>
  );
}
