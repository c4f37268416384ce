import { ServerConnection } from '@jupyterlab/services';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { Api, ApiError } from '../api';
import { FollowedRun } from '../followed';
import type { ServerMessage } from '../types';
import { node, question, RUN, state } from './panel';

/** A socket that a test opens, closes and speaks through. */
class Socket {
  static all: Socket[] = [];
  readyState = 0;
  onopen: () => void = () => undefined;
  onclose: () => void = () => undefined;
  onmessage: (event: { data: string }) => void = () => undefined;

  constructor(readonly url: string) {
    Socket.all.push(this);
  }
  open(): void {
    this.readyState = 1;
    this.onopen();
  }
  lose(): void {
    this.readyState = 3;
    this.onclose();
  }
  say(message: ServerMessage): void {
    this.onmessage({ data: JSON.stringify(message) });
  }
  close(): void {
    this.readyState = 3;
  }
}

let api: Api;
let run: FollowedRun;
const later = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

beforeEach(() => {
  vi.useFakeTimers();
  Socket.all = [];
  api = new Api(
    ServerConnection.makeSettings({
      baseUrl: 'http://here/',
      wsUrl: 'ws://here/',
      token: '',
      WebSocket: Socket as unknown as typeof WebSocket
    })
  );
  vi.spyOn(api, 'state').mockResolvedValue(state({ nodes: [node('c0001'), node('c0002')], seq: 10 }));
  vi.spyOn(api, 'questions').mockResolvedValue({ run: RUN, seq: 10, questions: [], elsewhere: '', pace: '' });
});

afterEach(() => {
  run.dispose();
  vi.useRealTimers();
});

async function followed(): Promise<void> {
  run = new FollowedRun(api, RUN);
  Socket.all[0].open();
  await later(1000);
}

it('asks only for what changed, and puts it in by id', async () => {
  await followed();
  vi.mocked(api.state).mockResolvedValue(
    state({ seq: 12, partial: true, nodes: [node('c0002', { value_text: '0.1' }), node('c0003')] })
  );
  Socket.all[0].say({ type: 'head', seq: 12, phase: 'running' });
  await later(1000);
  expect(api.state).toHaveBeenLastCalledWith(RUN, 10);
  expect(run.state!.nodes.map(one => [one.id, one.value_text])).toEqual([
    ['c0001', '0.5'],
    ['c0002', '0.1'],
    ['c0003', '0.5']
  ]);
});

it('makes one request of many messages', async () => {
  await followed();
  const before = vi.mocked(api.state).mock.calls.length;
  for (let seq = 11; seq < 60; seq++) {
    Socket.all[0].say({ type: 'head', seq, phase: 'running' });
  }
  await later(1000);
  expect(vi.mocked(api.state).mock.calls.length - before).toBeLessThanOrEqual(2);
});

it('connects again after a loss, and asks again what waits: a server that was started again has other nonces', async () => {
  vi.mocked(api.state).mockResolvedValue(state({ waiting: ['c0001'] }));
  await followed();
  const before = vi.mocked(api.questions).mock.calls.length;
  Socket.all[0].lose();
  expect(run.live.connected).toBe(false);
  await later(1000);
  Socket.all[1].open();
  await later(1000);
  expect(run.live.connected).toBe(true);
  expect(vi.mocked(api.questions).mock.calls.length).toBeGreaterThan(before);
});

it('keeps what it knows when a fetch fails, and says what is wrong', async () => {
  await followed();
  vi.mocked(api.state).mockRejectedValue(new ApiError(0, { message: 'The Jupyter server cannot be reached.' }));
  run.refresh();
  await later(500);
  expect(run.state!.nodes).toHaveLength(2);
  expect(run.error!.message).toBe('The Jupyter server cannot be reached.');
});

it('answers with the hashes and the nonce of the question that was shown', async () => {
  await followed();
  const decide = vi
    .spyOn(api, 'decide')
    .mockResolvedValue({ candidate: 'c0001', decision: 'edit', by: 'Ada', words: 'Edited.' });
  const asked = question();
  await run.decide(asked, 'edit', '', 'print(2)');
  expect(decide).toHaveBeenCalledWith(RUN, {
    candidate: 'c0001',
    nonce: asked.nonce,
    code: asked.code.sha256,
    data: asked.data,
    purposes: asked.purposes,
    decision: 'edit',
    reason: '',
    edited_code: 'print(2)'
  });
});

it('joins running output, and starts anew where something was skipped', async () => {
  await followed();
  Socket.all[0].say({ type: 'output', candidate: 'c0001', offset: 0, end: 2, text: 'ab' });
  Socket.all[0].say({ type: 'output', candidate: 'c0001', offset: 2, end: 4, text: 'cd' });
  expect(run.output('c0001')).toMatchObject({ text: 'abcd', cut: false });
  Socket.all[0].say({ type: 'output', candidate: 'c0001', offset: 90, end: 91, text: 'z' });
  expect(run.output('c0001')).toMatchObject({ text: 'z', cut: true });
});
