import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { checkIcon, closeIcon, editIcon, LabIcon } from '@jupyterlab/ui-components';
import { Signal } from '@lumino/signaling';

import type { IAttention, IHost } from '../panel/host';
import { IAide } from '../tokens';
import { AuditNotebook } from './auditNotebook';
import { candidateOf, runOf } from './cells';

/** The commands of a waiting program's cell. None decides: they lead to its card, whose buttons do. */
export const CellCommands = {
  review: 'aide:review-cell',
  edit: 'aide:edit-cell',
  reject: 'aide:reject-cell'
};

/** Makes every open audit notebook a live one, known by what it says of itself and by what the server says of it. */
export const notebookPlugin: JupyterFrontEndPlugin<void> = {
  id: 'aide-jupyter:notebook',
  description: 'The live audit notebook of aide-jupyter, with the review of programs in their cells.',
  autoStart: true,
  requires: [IAide, INotebookTracker],
  optional: [ITranslator],
  activate: (app: JupyterFrontEnd, aide: IAide, tracker: INotebookTracker, translator: ITranslator | null): void => {
    const trans = (translator ?? nullTranslator).load('aide_jupyter');
    const notebooks = new Map<NotebookPanel, AuditNotebook>();
    const refresh = () => Object.values(CellCommands).forEach(id => app.commands.notifyCommandChanged(id));
    const host: IHost = {
      aide,
      trans,
      documents: null,
      memory: null,
      openNotebook: () => undefined,
      confirm: async (title, body, label) => {
        const buttons = [Dialog.cancelButton(), Dialog.warnButton({ label })];
        return (await showDialog({ title, body, buttons, defaultButton: 0 })).button.accept;
      },
      attention: new Signal<object, IAttention>({})
    };

    const follow = (panel: NotebookPanel) => {
      const run = panel.isDisposed ? null : runOf(panel.context.model.sharedModel);
      const known = notebooks.get(panel);
      if (run === null || known?.run.run === run) {
        return;
      }
      known?.dispose();
      notebooks.set(panel, new AuditNotebook(panel, aide.follow(run), host, app.serviceManager.contents, refresh));
    };
    let restored = false;
    void app.restored.then(() => (restored = true));
    const watch = (panel: NotebookPanel) => {
      const reopened = !restored;
      void panel.context.ready.then(() => {
        if (reopened && !panel.isDisposed && runOf(panel.context.model.sharedModel) !== null) {
          startNoKernel(panel);
        }
        follow(panel);
        panel.context.model?.sharedModel.metadataChanged.connect(() => follow(panel));
      });
      panel.disposed.connect(() => notebooks.delete(panel));
    };
    tracker.forEach(watch);
    tracker.widgetAdded.connect((_, panel) => watch(panel));

    /** The waiting program in the active cell. What a command is given says nothing: a link in a text could give it. */
    const active = () => {
      const panel = tracker.currentWidget;
      const notebook = panel === null ? undefined : notebooks.get(panel);
      const candidate = candidateOf(notebook?.run.run ?? '', tracker.activeCell?.model.id ?? '');
      const review = candidate === null ? undefined : notebook?.review(candidate);
      return notebook !== undefined && candidate !== null && review !== undefined && !review.gone
        ? { notebook, candidate, review }
        : null;
    };
    const add = (
      id: string,
      label: string,
      caption: string,
      icon: LabIcon,
      act: (found: NonNullable<ReturnType<typeof active>>) => void
    ) =>
      app.commands.addCommand(id, {
        label,
        caption,
        icon,
        describedBy: { args: { type: 'object', properties: {} } },
        isEnabled: () => active() !== null,
        isVisible: () => active() !== null,
        execute: async () => {
          const found = active();
          if (found !== null) {
            await found.notebook.show(found.candidate);
            act(found);
          }
        }
      });
    add(
      CellCommands.review,
      trans.__('Review this program'),
      trans.__('Go to the review of the program in this cell'),
      checkIcon,
      () => undefined
    );
    add(
      CellCommands.edit,
      trans.__('Edit this program'),
      trans.__('Edit the program that waits in this cell; nothing runs before you approve the edit'),
      editIcon,
      ({ review }) => review.edit()
    );
    add(
      CellCommands.reject,
      trans.__('Reject this program…'),
      trans.__('Say why the program in this cell is rejected'),
      closeIcon,
      ({ review }) => review.set({ mode: 'reject' })
    );
    tracker.activeCellChanged.connect(refresh);
  }
};

/**
 * A log that JupyterLab opens again by itself, after a reload, is there to be read: it starts no kernel and asks for none.
 * One that still runs is connected to all the same, and a person may start one. JupyterLab looks at this once it has
 * asked the server which kernels run, which is after the notebook's content is there.
 */
function startNoKernel({ sessionContext }: NotebookPanel): void {
  sessionContext.kernelPreference = { ...sessionContext.kernelPreference, shouldStart: false };
}
