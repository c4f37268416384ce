import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { IAide } from './tokens';
import type { RunSummary } from './types';

/** The things that a person is told of wherever they are. */
export type Event = 'decision' | 'finished' | 'failed' | 'budget';

/** Milliseconds that a notification stays in the page; after that it is among those that the status bar lists. */
const STAYS: Record<Event, number | false> = { decision: 15000, finished: 10000, failed: false, budget: 10000 };
/** Characters of a run's title in a notification, which has room for 140. */
const TITLE = 60;

/**
 * What has happened to a run between two looks at it that a person should be told; null for anything else.
 *
 * `before` is undefined for a run that this page has not seen yet: then only a decision that waits is news.
 */
export function news(before: RunSummary | undefined, now: RunSummary): Event | null {
  if (now.waiting > 0 && now.owner === 'server' && (before === undefined || before.waiting === 0)) {
    return 'decision';
  }
  if (before === undefined || before.phase === now.phase) {
    return null;
  }
  if (now.phase === 'failed' || now.phase === 'unreadable' || (now.phase === 'interrupted' && now.problem)) {
    return 'failed';
  }
  return now.phase === 'closed' ? 'finished' : null;
}

/**
 * Tell the person of news about runs, once each, with a button that goes there.
 *
 * @param wanted Whether the settings want to be told of something.
 * @param looking Whether the person looks already at where a run tells of something: that is no news to them.
 */
export function notify(
  aide: IAide,
  trans: TranslationBundle,
  wanted: (event: Event) => boolean,
  looking: (run: string, event: Event) => boolean,
  show: (run: string) => void
): void {
  let seen: Map<string, RunSummary> | null = null;
  const told = new Map<string, { id: string; event: Event }>();
  const dismiss = (run: string) => {
    const one = told.get(run);
    if (one !== undefined) {
      Notification.dismiss(one.id);
      told.delete(run);
    }
  };
  const tell = (run: RunSummary) => (event: Event) => {
    if (!wanted(event) || looking(run.run, event)) {
      return;
    }
    dismiss(run.run);
    const title = run.title.length > TITLE ? `${run.title.slice(0, TITLE)}…` : run.title;
    const words = {
      decision: trans.__('A program waits for your decision: %1', title),
      finished: trans.__('Finished: %1', title),
      failed: trans.__('Something went wrong: %1', title),
      budget: trans.__('A budget is reached: %1', title)
    }[event];
    const kind = { decision: 'warning', finished: 'success', failed: 'error', budget: 'info' } as const;
    const id = Notification.emit(words, kind[event], {
      autoClose: STAYS[event],
      actions: [
        {
          label: event === 'decision' ? trans.__('Review') : trans.__('Show'),
          callback: () => show(run.run)
        }
      ]
    });
    told.set(run.run, { id, event });
  };
  aide.changed.connect(() => {
    for (const [run, { event }] of [...told]) {
      if (looking(run, event)) {
        dismiss(run);
      }
    }
    const runs = aide.runs;
    if (runs === null) {
      return;
    }
    for (const run of runs) {
      const before = seen?.get(run.run);
      if (before === run) {
        continue;
      }
      if (before !== undefined && before.waiting > 0 && run.waiting === 0) {
        dismiss(run.run);
      }
      const event = news(before, run);
      if (event !== null && (seen !== null || event === 'decision')) {
        void withReason(aide, run, event).then(tell(run));
      }
    }
    seen = new Map(runs.map(run => [run.run, run]));
  });
}

/** A run that has ended because a budget other than its steps was used up is told as that. */
async function withReason(aide: IAide, run: RunSummary, event: Event): Promise<Event> {
  if (event !== 'finished') {
    return event;
  }
  try {
    const { meters } = await aide.api.state(run.run);
    return meters.some(meter => meter.reached && meter.name !== 'steps') ? 'budget' : 'finished';
  } catch {
    return event;
  }
}
