/** What tests of the panel's parts have in common: a host, answers of a server, and a place to render into. */

import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import * as React from 'react';
import { act } from 'react';
import { createRoot, Root } from 'react-dom/client';
import { vi } from 'vitest';

import type { FollowedRun } from '../followed';
import { Host, IAttention, IHost } from '../panel/host';
import type { IAide } from '../tokens';
import type { Node, Question, RunState } from '../types';

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
// CodeMirror measures text, which jsdom does not lay out.
Range.prototype.getClientRects = () => [] as unknown as DOMRectList;

export const RUN = '20261130t191148-1f3a9c02';
export const HOSTILE = '<img src=x onerror="globalThis.hit = true"><script>globalThis.hit = true</script>';

export function node(id: string, change: Partial<Node> = {}): Node {
  return {
    id,
    number: Number(id.slice(1)),
    parent: null,
    depth: 0,
    operator: 'draft',
    standing: 'good',
    status_words: 'good',
    value: 0.5,
    value_text: '0.5',
    source: 'selection',
    best: false,
    failed: false,
    flags: 0,
    dangers: 0,
    tainted: false,
    edit_of: null,
    by_person: false,
    plan_line: 'a plan',
    seconds: 1,
    changed: 1,
    ...change
  };
}

export function question(change: Partial<Question> = {}): Question {
  return {
    candidate: 'c0001',
    nonce: 'nonce',
    data: 'd'.repeat(64),
    purposes: ['search', 'export'],
    purposes_words: 'An approval covers: search, export.',
    why: 'In this run a person decides about each program.',
    high_risk: false,
    flags: [],
    taints: [],
    code: { sha256: 'c'.repeat(64), exact: 'print("Validation metric: 1")\n', hidden: [] },
    compared_with: null,
    compared_code: null,
    plan_shown: '',
    capabilities: [{ name: 'Network', shown: 'none' }],
    asked_at: '2026-11-30T19:11:48Z',
    cell: 'cell',
    ...change
  };
}

export function state(change: Partial<RunState> = {}): RunState {
  return {
    version: '0.1.0',
    run: RUN,
    seq: 10,
    hash: 'a'.repeat(64),
    title: 'Predict the price',
    phase: 'running',
    phase_words: 'Running',
    preparing: '',
    owner: 'server',
    owner_words: '',
    actions: ['pause', 'stop', 'stop-now'],
    goal: 'Predict the price',
    evaluation: '',
    facts: [],
    mode: 'every',
    modes: ['every', 'flagged', 'auto'],
    metric: 'rmse',
    direction: 'minimize',
    direction_words: 'lower is better',
    elapsed_seconds: 61,
    ticking: false,
    meters: [],
    calls: 1,
    unknown_cost_calls: 0,
    best: null,
    partial: false,
    nodes: [],
    candidates: 0,
    failed: 0,
    points: [],
    waiting: [],
    hints: [],
    limits_reached: [],
    problems: [],
    events: [],
    folder: 'aide-runs/price',
    notebook: 'aide-runs/price/audit.ipynb',
    key: 'k',
    created: '2026-11-30T19:11:48Z',
    closed_why: '',
    report: null,
    solution: null,
    ...change
  };
}

/** A run as the panel's parts see one; what it is asked to do is a mock. */
export function run(change: Partial<RunState> = {}, questions: Question[] = []): FollowedRun {
  const shown = state(change);
  return {
    run: RUN,
    state: shown,
    questions: { run: RUN, seq: shown.seq, questions, elsewhere: '', pace: '' },
    error: null,
    changed: new Signal({}),
    printed: new Signal({}),
    live: { connected: true },
    node: (id: string) => shown.nodes.find(one => one.id === id),
    elapsed: () => shown.elapsed_seconds,
    output: () => undefined,
    decide: vi.fn(async () => ({ candidate: 'c0001', decision: 'approve', by: 'Ada', words: 'Approved by Ada.' })),
    control: vi.fn(async () => ({ run: RUN, phase: 'running', words: 'Done.', candidate: null }))
  } as unknown as FollowedRun;
}

export function host(change: Partial<IAide> = {}, more: Partial<IHost> = {}): IHost {
  const aide = {
    runs: [],
    error: null,
    doctor: null,
    mismatch: null,
    current: null,
    place: { page: 'run', run: RUN, candidate: null },
    changed: new Signal({}),
    go: vi.fn(),
    refresh: vi.fn(),
    examine: vi.fn(),
    ...change
  } as unknown as IAide;
  return {
    aide,
    trans: nullTranslator.load('aide_jupyter'),
    documents: null,
    memory: null,
    openNotebook: vi.fn(),
    confirm: vi.fn(async () => true),
    attention: new Signal<object, IAttention>({}),
    wish: { current: null },
    ...more
  };
}

/** A place in the page, cleared by `close`. */
export class Place {
  readonly element = document.body.appendChild(document.createElement('div'));
  private readonly root: Root = createRoot(this.element);

  constructor(readonly host: IHost) {}

  async render(part: JSX.Element): Promise<void> {
    await act(async () => this.root.render(<Host.Provider value={this.host}>{part}</Host.Provider>));
  }

  button(name: string): HTMLButtonElement {
    const found = [...this.element.querySelectorAll('button')].find(one => one.textContent?.trim() === name);
    if (found === undefined) {
      throw new Error(`There is no button “${name}” in: ${this.element.textContent}`);
    }
    return found;
  }

  async click(element: HTMLElement): Promise<void> {
    await act(async () => element.click());
  }

  async type(selector: string, text: string): Promise<void> {
    const field = this.element.querySelector<HTMLTextAreaElement>(selector)!;
    const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')!.set!;
    await act(async () => {
      set.call(field, text);
      field.dispatchEvent(new Event('input', { bubbles: true }));
    });
  }

  async close(): Promise<void> {
    await act(async () => this.root.unmount());
    this.element.remove();
  }
}
