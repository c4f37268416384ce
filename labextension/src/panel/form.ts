import type { Cap, Form, StartRun } from '../types';

/** What the form holds: texts as they are typed. */
export interface IValues {
  data: string;
  goal: string;
  /** A metric's name, or `minimize` or `maximize` where the program's own number counts. */
  metric: string;
  target: string;
  model: string;
  review: string;
  preview: string;
  /** By the name of the number; empty where the default counts. */
  numbers: Record<string, string>;
}

/** How a number of the form is typed: in a unit of this factor of the server's. */
export const SCALES: Record<Cap['name'], number> = {
  steps: 1,
  workers: 1,
  timeout: 60,
  max_time: 60,
  max_tokens: 1,
  max_cost: 1,
  memory: 1e9
};

export const EMPTY: IValues = {
  data: '',
  goal: '',
  metric: '',
  target: '',
  model: '',
  review: '',
  preview: '',
  numbers: {}
};

/** What is remembered of a form. Being asked less often is chosen each time anew. */
export function remembered(values: IValues): IValues {
  return { ...values, review: '' };
}

/** What was remembered, where it still is what the form can hold. */
export function recalled(kept: unknown, form: Form): IValues {
  const found: IValues = {
    ...EMPTY,
    review: form.default_mode,
    preview: form.default_preview,
    model: form.default_model
  };
  if (typeof kept !== 'object' || kept === null) {
    return found;
  }
  const texts = kept as Record<string, unknown>;
  for (const name of ['data', 'goal', 'metric', 'target', 'model', 'preview'] as const) {
    const text = texts[name];
    if (typeof text === 'string' && text) {
      found[name] = text;
    }
  }
  if (!form.previews.some(one => one.value === found.preview)) {
    found.preview = form.default_preview;
  }
  const numbers = texts.numbers;
  if (typeof numbers === 'object' && numbers !== null) {
    found.numbers = Object.fromEntries(
      Object.entries(numbers).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
    );
  }
  return found;
}

/** The request for what the form holds. */
export function request(values: IValues): StartRun {
  const asked: StartRun = {
    data: values.data.trim(),
    goal: values.goal.trim(),
    model: values.model.trim(),
    review: values.review as StartRun['review'],
    preview: values.preview as StartRun['preview']
  };
  if (values.metric === 'minimize' || values.metric === 'maximize') {
    asked[values.metric] = true;
  } else if (values.metric) {
    asked.metric = values.metric;
  }
  if (values.target) {
    asked.target = values.target;
  }
  for (const name of Object.keys(SCALES) as Cap['name'][]) {
    const text = values.numbers[name]?.trim();
    if (text) {
      asked[name] = Number(text) * SCALES[name];
    }
  }
  return asked;
}
