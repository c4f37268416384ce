/** Where the keyboard's focus is after what had it is gone: an update must not throw a person out. */

import { Widget } from '@lumino/widgets';
import * as React from 'react';
import { act } from 'react';

import { AidePanel } from '../panel/panel';
import { keepFocus } from '../panel/focus';
import { Button } from '../panel/parts';
import { GUARD } from '../panel/question';
import { ReviewQueue } from '../panel/review';
import { host, node, Place, question, run } from './panel';

const settle = () => act(async () => undefined);

describe('the focus', () => {
  let part: HTMLElement;
  let end: () => void;

  const add = (to: HTMLElement, tag: string, id: string) => {
    const element = to.appendChild(document.createElement(tag));
    element.id = id;
    return element;
  };

  beforeEach(() => {
    part = add(document.body, 'div', 'part');
    const queue = add(part, 'div', 'queue');
    queue.tabIndex = -1;
    const card = add(queue, 'p', 'card');
    add(card, 'button', 'one');
    add(card, 'button', 'two');
    add(document.body, 'input', 'else');
    end = keepFocus(part);
  });

  afterEach(() => {
    end();
    document.body.replaceChildren();
  });

  const get = (id: string) => document.getElementById(id)!;

  it('goes to what is around it where what had it is taken out', async () => {
    get('one').focus();
    get('card').remove();
    await settle();
    expect(document.activeElement).toBe(get('queue'));
  });

  it('stays where it is when something else is taken out', async () => {
    get('one').focus();
    get('two').remove();
    await settle();
    expect(document.activeElement).toBe(get('one'));
  });

  it('is not taken back from where the person has gone', async () => {
    get('one').focus();
    get('else').focus();
    get('one').remove();
    await settle();
    expect(document.activeElement).toBe(get('else'));
  });

  it('is not given to a person who has put it nowhere', async () => {
    get('one').focus();
    get('one').blur();
    await settle();
    get('one').remove();
    await settle();
    expect(document.activeElement).toBe(document.body);
  });

  it('is kept once more when the part goes that was watched', async () => {
    const outer = part.parentElement!;
    outer.tabIndex = -1;
    get('one').focus();
    end();
    part.remove();
    await settle();
    expect(document.activeElement).toBe(outer);
    outer.removeAttribute('tabindex');
  });
});

describe('the focus in the panel', () => {
  let place: Place;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    place = new Place(host());
  });
  afterEach(async () => {
    await place.close();
    vi.useRealTimers();
  });

  const queue = (...asked: Parameters<typeof question>[0][]) => {
    const questions = asked.map(question);
    const ids = questions.map(one => one.candidate);
    return <ReviewQueue run={run({ waiting: ids, nodes: ids.map(id => node(id)) }, questions)} />;
  };

  it('stays on a button of a card whose question is asked anew', async () => {
    await place.render(queue({}));
    await act(async () => void vi.advanceTimersByTime(GUARD));
    const approve = place.button('Approve');
    approve.focus();
    await place.render(queue({ nonce: 'another' }));
    expect(place.button('Approve')).toBe(approve);
    expect(approve.ariaDisabled).toBe('true');
    expect(approve.disabled).toBe(false);
    expect(document.activeElement).toBe(approve);
  });

  it('stays in the queue when a card is decided about, and never goes to Approve', async () => {
    const end = keepFocus(place.element);
    await place.render(queue({}, { candidate: 'c0002', code: { sha256: 'e'.repeat(64), exact: '', hidden: [] } }));
    place.button('Approve').focus();
    await place.render(queue({ candidate: 'c0002', code: { sha256: 'e'.repeat(64), exact: '', hidden: [] } }));
    expect(document.activeElement).toBe(place.element.querySelector('.jp-Aide-queue'));
    end();
  });

  it('goes from a button to what it opens, and back into the card', async () => {
    const end = keepFocus(place.element);
    await place.render(queue({}));
    await act(async () => void vi.advanceTimersByTime(GUARD));
    place.button('Reject…').focus();
    await place.click(place.button('Reject…'));
    expect(document.activeElement?.tagName).toBe('TEXTAREA');
    place.button('Cancel').focus();
    await place.click(place.button('Cancel'));
    expect(document.activeElement).toBe(place.element.querySelector('.jp-Aide-card'));
    end();
  });
});

it('keeps the focus on a button that can do nothing for now, and does nothing', async () => {
  const place = new Place(host());
  const clicked = vi.fn();
  const button = (disabled: boolean) => (
    <Button disabled={disabled} onClick={clicked}>
      Go
    </Button>
  );
  await place.render(button(false));
  place.button('Go').focus();
  await place.render(button(true));
  await place.click(place.button('Go'));
  expect(document.activeElement).toBe(place.button('Go'));
  expect(clicked).not.toHaveBeenCalled();
  await place.close();
});

it('moves notifications aside while the panel is in sight at the right', async () => {
  const panel = new AidePanel(host());
  const right = document.body.appendChild(document.createElement('div'));
  right.id = 'jp-right-stack';
  const aside = () => document.body.classList.contains('jp-mod-aideRight');
  await act(async () => Widget.attach(panel, right));
  expect(aside()).toBe(true);
  panel.hide();
  expect(aside()).toBe(false);
  await act(async () => panel.dispose());
  right.remove();
});
