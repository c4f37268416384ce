import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { aideIcon } from './icons';
import type { IAide } from './tokens';
import type { RunState, Simple, VerifyReply } from './types';

/** Every command, under one category of the palette. */
export namespace CommandIDs {
  export const openPanel = 'aide:open-panel';
  export const newRun = 'aide:new-run';
  export const showRuns = 'aide:show-runs';
  export const pause = 'aide:pause-run';
  export const resume = 'aide:resume-run';
  export const stop = 'aide:stop-run';
  export const stopNow = 'aide:stop-run-now';
  export const openNotebook = 'aide:open-notebook';
  export const review = 'aide:review-next';
  export const approve = 'aide:approve-candidate';
  export const edit = 'aide:edit-candidate';
  export const reject = 'aide:reject-candidate';
  export const exportBest = 'aide:export-best';
  export const verify = 'aide:verify-log';
  export const examine = 'aide:examine-sandbox';
}

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false } as const;

/** What the commands need of the application. */
export interface IActions {
  aide: IAide;
  trans: TranslationBundle;
  /** Bring the panel into sight. */
  reveal: () => void;
  openNotebook: (path: string) => Promise<void>;
  confirm: (title: string, text: string, button: string) => Promise<boolean>;
  /** Bring the question of a candidate into sight, and the focus to it: never to Approve. */
  attend: (candidate: string, answer: Answer | null) => void;
  /** The run of the notebook in front, from its metadata; null where it is no run's. */
  notebookRun: () => { run: string | null; path: string } | null;
  tell: (title: string, text: string) => Promise<unknown>;
  showVerdict: (verdict: VerifyReply) => Promise<unknown>;
}

/** What is asked before a run is stopped: title, text and button. */
export function stopQuestion(trans: TranslationBundle): [string, string, string] {
  const words = trans.__('Nothing new starts, and programs that wait are rejected. It cannot be resumed.');
  return [trans.__('Stop the run?'), words, trans.__('Stop')];
}

/** The answer to which a command opens a question. */
export type Answer = 'approve' | 'edit' | 'reject';

/**
 * Add the commands.
 *
 * Text of models and data can reach a page, and a link in it could name a command. So no command takes an id, none
 * decides, and none begins a run: those that are about a decision bring the card into sight, where the person decides.
 */
export function addCommands(commands: CommandRegistry, actions: IActions): void {
  const { aide, trans } = actions;
  const state = (): RunState | null => aide.current?.state ?? null;
  const can = (verb: RunState['actions'][number]) => state()?.actions.includes(verb) ?? false;
  const shown = () => {
    actions.reveal();
    aide.go({ page: 'run' });
  };
  const control = async (verb: Simple['verb']) => {
    const run = aide.current;
    if (run !== null) {
      await run.control({ verb });
    }
  };
  const add = (
    id: string,
    label: string,
    caption: string,
    execute: () => unknown,
    isEnabled: () => boolean = () => true
  ) =>
    commands.addCommand(id, {
      label,
      caption,
      icon: (args: ReadonlyPartialJSONObject) => (args.toolbar ? undefined : aideIcon),
      describedBy: { args: NO_ARGUMENTS },
      isEnabled,
      execute: async () => {
        try {
          await execute();
        } catch (error) {
          await actions.tell(trans.__('That did not work'), error instanceof Error ? error.message : String(error));
        }
      }
    });

  add(CommandIDs.openPanel, trans.__('Show the AIDE panel'), trans.__('Show runs and their review'), actions.reveal);
  add(CommandIDs.newRun, trans.__('New run…'), trans.__('Fill in the form for a new run'), () => {
    actions.reveal();
    aide.go({ page: 'new' });
  });
  add(CommandIDs.showRuns, trans.__('Show all runs'), trans.__('List all runs, and try the example'), () => {
    actions.reveal();
    aide.go({ page: 'runs' });
  });
  add(
    CommandIDs.pause,
    trans.__('Pause the run'),
    trans.__('Nothing new starts; what runs finishes'),
    () => control('pause'),
    () => can('pause')
  );
  add(
    CommandIDs.resume,
    trans.__('Resume the run'),
    trans.__('Go on with the run that the panel shows'),
    () => control('resume'),
    () => can('resume')
  );
  add(
    CommandIDs.stop,
    trans.__('Stop the run…'),
    trans.__('Finish the run that the panel shows, after asking'),
    async () => {
      if (await actions.confirm(...stopQuestion(trans))) {
        await control('stop');
      }
    },
    () => can('stop')
  );
  add(
    CommandIDs.stopNow,
    trans.__('Stop the run at once…'),
    trans.__('Kill what runs and finish, after asking'),
    async () => {
      const words = trans.__('Programs that run are killed now, and the run is closed. It cannot be resumed.');
      if (await actions.confirm(trans.__('Stop at once?'), words, trans.__('Stop at once'))) {
        await control('stop-now');
      }
    },
    () => can('stop-now')
  );
  add(
    CommandIDs.openNotebook,
    trans.__('Open the audit notebook'),
    trans.__('Open the notebook of the run that the panel shows, without starting a kernel'),
    () => actions.openNotebook(state()!.notebook!),
    () => Boolean(state()?.notebook)
  );

  const attend = (answer: Answer | null) => () => {
    const waiting = state()?.waiting[0] ?? null;
    if (waiting !== null) {
      shown();
      actions.attend(waiting, answer);
    } else {
      const other = aide.runs?.find(run => run.waiting > 0 && run.owner === 'server');
      if (other !== undefined) {
        actions.reveal();
        aide.go({ page: 'run', run: other.run });
      }
    }
  };
  const waits = () => Boolean(state()?.waiting.length) || Boolean(aide.runs?.some(run => run.waiting > 0));
  add(
    CommandIDs.review,
    trans.__('Review the next program'),
    trans.__('Go to the program that has waited longest for your decision'),
    attend(null),
    waits
  );
  add(
    CommandIDs.approve,
    trans.__('Approve the program…'),
    trans.__('Go to the program that waits, to approve it'),
    attend('approve'),
    waits
  );
  add(
    CommandIDs.edit,
    trans.__('Edit the program…'),
    trans.__('Go to the program that waits, and edit it'),
    attend('edit'),
    waits
  );
  add(
    CommandIDs.reject,
    trans.__('Reject the program…'),
    trans.__('Go to the program that waits, and say why not'),
    attend('reject'),
    waits
  );

  const subject = () => actions.notebookRun()?.run ?? (aide.place.page === 'run' ? aide.place.run : null);
  add(
    CommandIDs.exportBest,
    trans.__('Export best solution'),
    trans.__('Write the best program of this run as an ordinary notebook, and open it'),
    async () => {
      const exported = await aide.api.exportBest(subject()!);
      if (exported.path.startsWith('/')) {
        await actions.tell(trans.__('The solution is exported'), exported.words);
      } else {
        await actions.openNotebook(exported.path);
      }
    },
    () => subject() !== null
  );
  add(
    CommandIDs.verify,
    trans.__('Verify this log'),
    trans.__('Check that nothing in this run’s journal and notebook was altered'),
    async () => {
      const notebook = actions.notebookRun();
      const run = notebook?.run ? null : subject();
      const verdict = run !== null ? await aide.api.verify(run) : await aide.api.verifyPath(notebook!.path);
      await actions.showVerdict(verdict);
    },
    () => subject() !== null
  );
  add(
    CommandIDs.examine,
    trans.__('Check the sandbox'),
    trans.__('Prove again that programs are contained'),
    async () => {
      actions.reveal();
      aide.go({ page: 'runs' });
      await aide.examine();
    }
  );
}
