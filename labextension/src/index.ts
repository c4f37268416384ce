import { ILabShell, ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, ReactWidget, showDialog } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRunningSessionManagers } from '@jupyterlab/running';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { DockPanel } from '@lumino/widgets';
import { createElement } from 'react';

import { Api } from './api';
import { addRunning, addStatusItem } from './around';
import { addCommands, CommandIDs, stopQuestion } from './commands';
import { Aide } from './model';
import { Event, notify } from './notifications';
import { Host, IAttention, IHost } from './panel/host';
import { AidePanel } from './panel/panel';
import { Verdict } from './panel/results';
import { notebookPlugin } from './notebook/plugin';
import { IAide } from './tokens';
import type { RunSummary } from './types';

const model: JupyterFrontEndPlugin<IAide> = {
  id: 'aide-jupyter:model',
  description: 'What the page knows of runs.',
  autoStart: true,
  provides: IAide,
  optional: [IStateDB],
  activate: (app: JupyterFrontEnd, memory: IStateDB | null) => {
    const { serverSettings, events } = app.serviceManager;
    const aide = new Aide(new Api(serverSettings), events, memory);
    void app.restored.then(() => aide.begin());
    return aide;
  }
};

const panel: JupyterFrontEndPlugin<void> = {
  id: 'aide-jupyter:plugin',
  description: 'The side panel, its commands, and what tells of runs elsewhere in the window.',
  autoStart: true,
  requires: [IAide],
  optional: [
    ITranslator,
    IDocumentManager,
    INotebookTracker,
    ISettingRegistry,
    IStateDB,
    ICommandPalette,
    ILayoutRestorer,
    IStatusBar,
    IRunningSessionManagers,
    ILabShell
  ],
  activate: (
    app: JupyterFrontEnd,
    aide: IAide,
    translator: ITranslator | null,
    documents: IDocumentManager | null,
    notebooks: INotebookTracker | null,
    registry: ISettingRegistry | null,
    memory: IStateDB | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    statusBar: IStatusBar | null,
    running: IRunningSessionManagers | null,
    labShell: ILabShell | null
  ) => {
    const trans = (translator ?? nullTranslator).load('aide_jupyter');
    const attention = new Signal<object, IAttention>({});
    const settings = new Map<string, boolean>();

    const confirm = async (title: string, text: string, button: string) => {
      const result = await showDialog({
        title,
        body: text,
        buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: button })],
        defaultButton: 0
      });
      return result.button.accept;
    };
    const tell = (title: string, text: string) =>
      showDialog({ title, body: text, buttons: [Dialog.okButton({ label: trans.__('Close') })] });
    const { contents } = app.serviceManager;
    const there = (path: string) =>
      contents.get(path, { content: false }).then(
        () => true,
        () => false
      );
    const bring = (path: string, activate: boolean) => {
      const shown = documents?.openOrReveal(path, 'default', undefined, { activate }, { shouldStart: false });
      if (!activate && shown?.parent instanceof DockPanel) {
        shown.parent.selectWidget(shown);
      }
    };
    const openNotebook = async (path: string) => {
      if (await there(path)) {
        bring(path, true);
      } else {
        await tell(trans.__('There is no such file'), path);
      }
    };
    const wish: IHost['wish'] = { current: null };
    const host: IHost = { aide, trans, documents, memory, openNotebook, confirm, attention, wish };
    const side = new AidePanel(host);
    app.shell.add(side, 'right', { rank: 700 });
    restorer?.add(side, side.id);
    const reveal = () => app.shell.activateById(side.id);
    const notebookRun = () => {
      const notebook = notebooks?.currentWidget;
      if (!notebook || app.shell.currentWidget !== notebook) {
        return null;
      }
      const found = notebook.content.model?.sharedModel.getMetadata('aide') as { run?: unknown } | undefined;
      return { run: typeof found?.run === 'string' ? found.run : null, path: notebook.context.path };
    };
    const show = (run: string) => {
      reveal();
      aide.go({ page: 'run', run });
    };

    addCommands(app.commands, {
      aide,
      trans,
      reveal,
      openNotebook,
      confirm,
      tell,
      attend: (candidate, answer) => {
        wish.current = { candidate, answer };
        // In the next frame the command palette gives the focus back to what had it before; the card is to have it.
        window.requestAnimationFrame(() => window.setTimeout(() => attention.emit({ candidate, answer }), 0));
      },
      notebookRun,
      showVerdict: verdict =>
        showDialog({
          title: trans.__('Verify this log'),
          body: ReactWidget.create(createElement(Host.Provider, { value: host }, createElement(Verdict, { verdict }))),
          buttons: [Dialog.okButton({ label: trans.__('Close') })]
        })
    });
    if (palette !== null) {
      const category = trans.__('AIDE');
      for (const command of Object.values(CommandIDs)) {
        palette.addItem({ command, category });
      }
    }
    const refresh = () => Object.values(CommandIDs).forEach(id => app.commands.notifyCommandChanged(id));
    aide.changed.connect(refresh);
    labShell?.currentChanged.connect(refresh);
    notebooks?.currentChanged.connect((_, notebook) => {
      refresh();
      // Which run's it is is known once its content is there.
      void notebook?.context.ready.then(refresh);
    });

    void registry?.load(panel.id).then(loaded => {
      const read = () => {
        for (const event of ['decision', 'finished', 'failed', 'budget'] as Event[]) {
          settings.set(event, (loaded.get('notify').composite as Record<string, boolean>)[event] !== false);
        }
        settings.set('openNotebook', loaded.get('openNotebook').composite !== false);
      };
      read();
      loaded.changed.connect(read);
    });
    const looking = (run: string, event: Event) =>
      !document.hidden &&
      ((side.isVisible && aide.place.page === 'run' && aide.place.run === run) ||
        (event === 'decision' && notebookRun()?.run === run));
    notify(aide, trans, event => settings.get(event) !== false, looking, show);
    // It comes by itself, so it takes no focus from a person who is at work in the panel.
    const open = (path: string) => bring(path, !side.node.contains(document.activeElement));
    openBegun(aide, () => settings.get('openNotebook') !== false, there, open);
    if (labShell !== null && memory !== null) {
      void welcome(aide, memory, reveal);
    }
    if (statusBar !== null) {
      addStatusItem(statusBar, aide, trans, show);
    }
    if (running !== null) {
      const stop = (run: RunSummary) => {
        void aide.api.control(run.run, { verb: 'stop' }).catch((error: Error) => tell(run.title, error.message));
      };
      addRunning(running, aide, trans, show, stop, run => {
        const [title, text, button] = stopQuestion(trans);
        return confirm(title, `${run.title}\n\n${text}`, button);
      });
    }
  }
};

const WELCOMED = 'aide-jupyter:welcomed';

/** Show the panel once, by itself, to a person who has not begun a run yet. */
async function welcome(aide: IAide, memory: IStateDB, reveal: () => void): Promise<void> {
  if (await memory.fetch(WELCOMED).catch(() => true)) {
    return;
  }
  const look = () => {
    if (aide.runs === null) {
      return;
    }
    aide.changed.disconnect(look);
    void memory.save(WELCOMED, true);
    if (aide.runs.length === 0) {
      reveal();
    }
  };
  aide.changed.connect(look);
}

/** Milliseconds between two looks for a notebook that is to be opened, and how many there are. */
const LOOK_AGAIN = 500;
const LOOKS = 40;

/** Open the notebook of a run that was begun in this page, once its file is there, beside the panel. */
function openBegun(
  aide: IAide,
  wanted: () => boolean,
  there: (path: string) => Promise<boolean>,
  open: (path: string) => void
): void {
  let followed: string | null = null;
  let preparing = false;
  const openOnceThere = async (run: string, path: string, looks: number) => {
    if (await there(path)) {
      open(path);
    } else if (looks > 0 && aide.current?.run === run) {
      window.setTimeout(() => void openOnceThere(run, path, looks - 1), LOOK_AGAIN);
    }
  };
  const look = () => {
    const state = aide.current?.state ?? null;
    if (state === null || state.run !== followed) {
      followed = state?.run ?? null;
      preparing = state?.phase === 'preparing';
    } else if (preparing && state.phase !== 'preparing' && state.notebook !== null) {
      preparing = false;
      if (wanted()) {
        void openOnceThere(state.run, state.notebook, LOOKS);
      }
    }
  };
  let current = aide.current;
  current?.changed.connect(look);
  aide.changed.connect(() => {
    if (aide.current !== current) {
      current?.changed.disconnect(look);
      current = aide.current;
      current?.changed.connect(look);
    }
  });
}

export default [model, panel, notebookPlugin];
