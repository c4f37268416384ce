import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import metadata from '../../../package.json';
import { addCommands, CommandIDs, IActions } from '../commands';
import { bytes, clock, duration } from '../format';
import { news } from '../notifications';
import type { IAide } from '../tokens';
import type { RunSummary } from '../types';
import { run, RUN } from './panel';

function summary(change: Partial<RunSummary> = {}): RunSummary {
  return {
    run: RUN,
    title: 'Predict the price',
    phase: 'running',
    phase_words: 'Running',
    owner: 'server',
    created: '2026-11-30T19:11:48Z',
    steps: 1,
    steps_max: 8,
    best: null,
    waiting: 0,
    folder: 'aide-runs/price',
    notebook: null,
    actions: [],
    problem: '',
    ...change
  };
}

it('tells of a decision that waits, of an end and of a failure, and of nothing else', () => {
  const running = summary();
  expect(news(running, summary({ steps: 2 }))).toBeNull();
  expect(news(running, summary({ phase: 'paused' }))).toBeNull();
  expect(news(running, summary({ phase: 'waiting', waiting: 1 }))).toBe('decision');
  expect(news(summary({ waiting: 1 }), summary({ waiting: 2 }))).toBeNull();
  expect(news(running, summary({ phase: 'closed' }))).toBe('finished');
  expect(news(summary({ phase: 'preparing' }), summary({ phase: 'failed', problem: 'No jail.' }))).toBe('failed');
});

it('does not tell again of what was over before the page was loaded', () => {
  expect(news(undefined, summary({ phase: 'closed' }))).toBeNull();
  expect(news(undefined, summary({ phase: 'waiting', waiting: 1 }))).toBe('decision');
});

it('has no command that decides, or that takes an id: a link in a text could name a command', async () => {
  const followed = run({ waiting: ['c0001'], actions: ['pause', 'stop', 'stop-now'] });
  const aide = {
    current: followed,
    runs: [],
    place: { page: 'run', run: RUN, candidate: null },
    changed: new Signal({}),
    go: vi.fn(),
    examine: vi.fn(),
    api: { start: vi.fn(), exportBest: vi.fn(async () => ({ path: 'x', words: '' })), verify: vi.fn() }
  };
  const actions: IActions = {
    aide: aide as unknown as IAide,
    trans: nullTranslator.load('aide_jupyter'),
    reveal: vi.fn(),
    openNotebook: vi.fn(),
    confirm: vi.fn(async () => false),
    attend: vi.fn(),
    notebookRun: () => null,
    tell: vi.fn(),
    showVerdict: vi.fn()
  };
  const commands = new CommandRegistry();
  addCommands(commands, actions);
  for (const id of Object.values(CommandIDs)) {
    const described = await commands.describedBy(id);
    expect(described.args).toMatchObject({ properties: {} });
    if (commands.isEnabled(id)) {
      await commands.execute(id, { candidate: 'c0001', run: RUN, decision: 'approve' });
    }
  }
  expect(followed.decide).not.toHaveBeenCalled();
  expect(aide.api.start).not.toHaveBeenCalled();
  expect(vi.mocked(followed.control).mock.calls.map(([asked]) => asked.verb)).toEqual(['pause']);
  expect(actions.attend).toHaveBeenCalledWith('c0001', 'approve');
});

it('says times and sizes in the unit that fits', () => {
  expect([clock(3), clock(125), clock(3725)]).toEqual(['0:03', '2:05', '1:02:05']);
  expect([duration(0.44), duration(12.4), duration(200), duration(7500)]).toEqual([
    '0.4 s',
    '12 s',
    '3 min',
    '2 h 5 min'
  ]);
  expect([bytes(512), bytes(1500), bytes(146e6)]).toEqual(['512 B', '1.5 kB', '146 MB']);
});

it('has a version to compare with the server’s', () => {
  expect(metadata.version).toMatch(/^\d+\.\d+\.\d+/);
});
