import type { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import type { IStatusBar } from '@jupyterlab/statusbar';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { ISignal, Signal } from '@lumino/signaling';
import * as React from 'react';

import { aideIcon } from './icons';
import type { IAide } from './tokens';
import type { RunSummary } from './types';

const UNDER_WAY = new Set<RunSummary['phase']>(['preparing', 'running', 'waiting']);

function underWay(aide: IAide): readonly RunSummary[] {
  return aide.runs?.filter(run => UNDER_WAY.has(run.phase)) ?? [];
}

/** The run under way, in the status bar; nothing where none is. */
export function addStatusItem(
  statusBar: IStatusBar,
  aide: IAide,
  trans: TranslationBundle,
  show: (run: string) => void
): void {
  const item = ReactWidget.create(<Status aide={aide} trans={trans} show={show} />);
  item.addClass('jp-AideStatus');
  statusBar.registerStatusItem('aide-jupyter:status', {
    item,
    align: 'middle',
    isActive: () => underWay(aide).length > 0,
    activeStateChanged: aide.changed as unknown as ISignal<unknown, void>
  });
}

function Status(props: { aide: IAide; trans: TranslationBundle; show: (run: string) => void }): JSX.Element | null {
  const { aide, trans, show } = props;
  const [, again] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    aide.changed.connect(again);
    return () => {
      aide.changed.disconnect(again);
    };
  }, [aide]);
  const runs = underWay(aide);
  const run = runs.find(one => one.waiting > 0) ?? runs[0];
  if (run === undefined) {
    return null;
  }
  const words =
    run.waiting > 0
      ? trans._n('AIDE: %1 program waits', 'AIDE: %1 programs wait', run.waiting)
      : run.phase === 'preparing'
        ? trans.__('AIDE: preparing')
        : trans.__('AIDE: %1 of %2 steps', run.steps, run.steps_max);
  return (
    <button type="button" title={`${run.title}\n${run.phase_words}`} onClick={() => show(run.run)}>
      {words}
    </button>
  );
}

/**
 * The runs under way, in Running Terminals and Kernels.
 *
 * @param stop Stop a run. JupyterLab asks before it stops all, and not before it stops one.
 * @param confirm Ask whether this one is to be stopped.
 */
export function addRunning(
  managers: IRunningSessionManagers,
  aide: IAide,
  trans: TranslationBundle,
  show: (run: string) => void,
  stop: (run: RunSummary) => void,
  confirm: (run: RunSummary) => Promise<boolean>
): void {
  const changed = new Signal<IAide, void>(aide);
  aide.changed.connect(() => changed.emit());
  const ask = async (run: RunSummary) => {
    if (await confirm(run)) {
      stop(run);
    }
  };
  const item = (run: RunSummary): IRunningSessions.IRunningItem => ({
    icon: () => aideIcon,
    label: () => run.title,
    labelTitle: () => `${run.title}\n${run.folder}`,
    detail: () => run.phase_words,
    open: () => show(run.run),
    ...(run.actions.includes('stop') ? { shutdown: () => void ask(run) } : {})
  });
  managers.add({
    name: trans.__('AIDE runs'),
    running: () => underWay(aide).map(item),
    refreshRunning: () => aide.refresh(),
    runningChanged: changed as unknown as ISignal<unknown, unknown>,
    shutdownLabel: trans.__('Stop'),
    shutdownAllLabel: trans.__('Stop all'),
    shutdownAllConfirmationText: trans.__('Stop all runs? They cannot be resumed.'),
    shutdownAll: () => underWay(aide).forEach(stop)
  });
}
