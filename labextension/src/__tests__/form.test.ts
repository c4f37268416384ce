import { expect, it } from 'vitest';

import { EMPTY, recalled, remembered, request } from '../panel/form';
import type { Form } from '../types';

const FORM: Form = {
  version: '0.1.0',
  modes: [{ value: 'every', label: 'Every program', description: '' }],
  default_mode: 'every',
  previews: [{ value: 'schema', label: 'Schema', description: '' }],
  default_preview: 'schema',
  policies: ['default'],
  metrics: [],
  numbers: [],
  default_model: 'offline',
  runs_folder: 'aide-runs',
  data_words: '',
  user: 'Ada'
};

it('asks in the units of the server, and says nothing about what was left empty', () => {
  const numbers = { steps: '5', max_time: '90', timeout: '', memory: '2.5' };
  const asked = request({ ...EMPTY, data: ' data ', goal: 'g', metric: 'rmse', model: 'offline', numbers });
  expect(asked).toMatchObject({ data: 'data', metric: 'rmse', steps: 5, max_time: 5400, memory: 2.5e9 });
  expect(asked).not.toHaveProperty('timeout');
  expect(asked).not.toHaveProperty('target');
});

it('asks for a direction where only the program reports a number', () => {
  const asked = request({ ...EMPTY, metric: 'maximize' });
  expect(asked.maximize).toBe(true);
  expect(asked).not.toHaveProperty('metric');
});

it('remembers a form, but never that somebody wanted to be asked less often', () => {
  const kept = remembered({ ...EMPTY, goal: 'Predict', review: 'auto', numbers: { steps: '7' } });
  expect(recalled(kept, FORM)).toMatchObject({ goal: 'Predict', review: 'every', numbers: { steps: '7' } });
});

it('does not take from memory what is no longer allowed, or no form at all', () => {
  expect(recalled({ ...EMPTY, preview: 'samples' }, FORM).preview).toBe('schema');
  expect(recalled('nonsense', FORM)).toMatchObject({ goal: '', model: 'offline', preview: 'schema' });
});
