import * as React from 'react';
import { act } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { ApiError } from '../api';
import { GUARD } from '../panel/question';
import { ReviewCard, ReviewQueue } from '../panel/review';
import type { Question } from '../types';
import { host, HOSTILE, node, Place, question, run } from './panel';

let place: Place;

beforeEach(() => {
  vi.useFakeTimers();
  place = new Place(host());
});

afterEach(async () => {
  await place.close();
  vi.useRealTimers();
});

const later = (milliseconds: number) => act(async () => void vi.advanceTimersByTime(milliseconds));

async function card(asked: Question) {
  const followed = run({ waiting: [asked.candidate], nodes: [node(asked.candidate)] }, [asked]);
  await place.render(<ReviewQueue run={followed} />);
  return followed;
}

it('takes no decision in the first half second, and never gives Approve the focus', async () => {
  await card(question());
  expect(place.button('Approve').ariaDisabled).toBe('true');
  expect(place.button('Reject…').ariaDisabled).toBe('true');
  await later(GUARD - 1);
  expect(place.button('Approve').ariaDisabled).toBe('true');
  await later(1);
  expect(place.button('Approve').ariaDisabled).toBeNull();
  expect(document.activeElement).not.toBe(place.button('Approve'));
});

it('waits again when the question has become another', async () => {
  const followed = await card(question());
  await later(GUARD);
  await place.render(<ReviewCard run={followed} question={question({ nonce: 'another' })} onDone={() => undefined} />);
  expect(place.button('Approve').ariaDisabled).toBe('true');
});

it('sends one decision for a double click', async () => {
  const followed = await card(question());
  await later(GUARD);
  const approve = place.button('Approve');
  await act(async () => {
    approve.click();
    approve.click();
  });
  expect(followed.decide).toHaveBeenCalledTimes(1);
  expect(followed.decide).toHaveBeenCalledWith(question(), 'approve', '', undefined);
});

it('asks for more than a click where a program is dangerous, and looks different', async () => {
  await card(
    question({ high_risk: true, flags: [{ rule: 'exec', line: 3, message: 'It runs text.', severity: 'danger' }] })
  );
  await later(GUARD);
  expect(place.element.querySelector('.jp-Aide-card.jp-mod-highRisk h3')?.textContent).toContain('Look closely');
  expect(place.button('Approve').ariaDisabled).toBe('true');
  await place.click(place.element.querySelector<HTMLElement>('input[type=checkbox]')!);
  expect(place.button('Approve').ariaDisabled).toBeNull();
});

it('tells the author why a program is rejected', async () => {
  const followed = await card(question());
  await later(GUARD);
  await place.click(place.button('Reject…'));
  await place.type('textarea', 'It reads the test rows.');
  await place.click(place.button('Reject the program'));
  expect(followed.decide).toHaveBeenCalledWith(question(), 'reject', 'It reads the test rows.', undefined);
});

it('says with words why a stale decision was refused', async () => {
  const followed = await card(question());
  vi.mocked(followed.decide).mockRejectedValue(
    new ApiError(409, { message: 'Grace has rejected it.', advice: 'Look again.' })
  );
  await later(GUARD);
  await place.click(place.button('Approve'));
  expect(place.element.querySelector('[role=alert]')?.textContent).toContain('Grace has rejected it.');
  expect(place.element.querySelector('[role=alert]')?.textContent).toContain('Look again.');
});

it('brings a card into sight with the focus on its heading when a command asks for it', async () => {
  place.host.wish!.current = { candidate: 'c0001', answer: 'reject' };
  await card(question());
  expect(document.activeElement?.tagName).not.toBe('BUTTON');
  expect(place.element.querySelector('textarea')).not.toBeNull();
  expect(place.host.wish!.current).toBeNull();
});

it('shows texts of models and data as they are', async () => {
  await card(
    question({
      why: HOSTILE,
      plan_shown: HOSTILE,
      taints: [HOSTILE],
      flags: [{ rule: 'x', line: 1, message: HOSTILE, severity: 'note' }],
      capabilities: [{ name: HOSTILE, shown: HOSTILE }],
      code: { sha256: 'c'.repeat(64), exact: `# ${HOSTILE}\n`, hidden: [{ line: 1, shown: HOSTILE }] }
    })
  );
  expect(place.element.querySelector('img:not(.cm-widgetBuffer), script')).toBeNull();
  expect(place.element.textContent).toContain(HOSTILE);
  expect(globalThis).not.toHaveProperty('hit');
});
