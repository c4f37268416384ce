/** A review in a cell: what decides, what does not, and what is left where it did not count. */

import { ApiError } from '../api';
import { CellReview, DecidingRun, IProgramCell } from '../notebook/review';
import { asShown } from '../notebook/terminal';
import type { DecisionReply, Question } from '../types';
import { RUN } from './notebook';

const CODE = 'print(1)\n';
const WORDS = { notShown: 'not shown', notEdited: 'not edited', decidedWhileEditing: 'decided' };

function question(more: Partial<Question> = {}): Question {
  return {
    candidate: 'c0001',
    nonce: 'n1',
    data: 'd'.repeat(64),
    purposes: ['search'],
    purposes_words: 'its run',
    why: '',
    high_risk: false,
    flags: [],
    taints: [],
    code: { sha256: 'a'.repeat(64), exact: CODE, hidden: [] },
    compared_with: null,
    compared_code: null,
    plan_shown: '',
    capabilities: [],
    asked_at: '',
    cell: '',
    ...more
  };
}

class FakeCell implements IProgramCell {
  text: string | null = CODE;
  editable = false;
  source = () => this.text;
  put = (source: string) => void (this.text = source);
  setEditable = (editable: boolean) => void (this.editable = editable);
  enter = () => undefined;
}

describe('a review in a cell', () => {
  let cell: FakeCell;
  let sent: unknown[][];
  let answer: () => Promise<DecisionReply>;
  let review: CellReview;

  beforeEach(() => {
    cell = new FakeCell();
    sent = [];
    answer = async () => ({ candidate: 'c0001', decision: 'approve', by: 'ada', words: '' });
    const run = {
      run: RUN,
      decide: (...sending: unknown[]) => {
        sent.push(sending);
        return answer();
      }
    } as unknown as DecidingRun;
    review = new CellReview(run, cell, question(), WORDS);
  });

  it('decides once, however often a person clicks', async () => {
    await Promise.all([review.approve(), review.approve()]);
    await review.approve();
    expect(sent).toEqual([[review.question, 'approve']]);
    expect(review.over).toBe(true);
  });

  it('does not approve what the cell does not show', async () => {
    cell.text = 'print(2)\n';
    await review.approve();
    review.edit();
    expect(sent).toEqual([]);
    expect(review.error?.message).toBe('not shown');
    expect(cell.editable).toBe(false);
    cell.text = 'print(1)\r\n';
    expect(review.isShown).toBe(true);
  });

  it('says in the server’s words why a decision did not count, and keeps saying it when nothing is asked any more', async () => {
    answer = () => Promise.reject(new ApiError(409, { message: 'bob has rejected it.' }));
    await review.approve();
    review.update(null);
    expect(review.error?.message).toBe('bob has rejected it.');
    expect(review.over).toBe(false);
    review.dismiss();
    expect(review.over).toBe(true);
  });

  it('makes the cell editable, and sends what was edited while the cell shows again what was proposed', async () => {
    review.edit();
    expect(cell.editable).toBe(true);
    cell.text = 'print(2)\n';
    await review.approveEdit();
    expect(sent).toEqual([[review.question, 'edit', '', 'print(2)\n']]);
    expect([cell.text, cell.editable]).toEqual([CODE, false]);
  });

  it('loses no edit that did not count', async () => {
    answer = () => Promise.reject(new ApiError(0, { message: 'away' }));
    review.edit();
    cell.text = 'print(2)\n';
    await review.approveEdit();
    expect([cell.text, cell.editable, review.mode]).toEqual(['print(2)\n', true, 'edit']);
  });

  it('takes no edit that is none, and gives it up when it is discarded', async () => {
    review.edit();
    await review.approveEdit();
    expect(sent).toEqual([]);
    cell.text = 'print(2)\n';
    review.discard();
    expect([cell.text, cell.editable, review.mode]).toEqual([CODE, false, 'look']);
  });

  it('sends the reason with a rejection', async () => {
    review.set({ mode: 'reject', reason: 'too slow' });
    await review.reject();
    expect(sent).toEqual([[review.question, 'reject', 'too slow']]);
  });

  it('takes another question of the same program as a new one to be read', () => {
    review.set({ read: true });
    review.update(question());
    expect(review.read).toBe(true);
    review.update(question({ nonce: 'n2' }));
    expect([review.read, review.question.nonce]).toEqual([false, 'n2']);
  });

  it('tells a person whose edit was overtaken', () => {
    review.edit();
    review.update(null);
    expect(review.error?.message).toBe('decided');
    expect(review.mode).toBe('look');
  });
});

describe('running output', () => {
  it('is shown as a terminal would, where a program moves back', () => {
    expect(asShown('a\nb\n')).toBe('a\nb\n');
    expect(asShown('10 %\r100 %\nok\r\nabc\b\bX\n')).toBe('100 %\nok\naXc\n');
  });
});
