import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';

import type { Api, ApiError } from './api';
import type { FollowedRun } from './followed';
import type { Doctor, RunSummary } from './types';

/** What the panel shows. */
export interface IPlace {
  page: 'runs' | 'new' | 'run';
  /** The run that is shown, or was last. */
  run: string | null;
  /** The candidate that is selected in it. */
  candidate: string | null;
}

/** A hold on a followed run. Dispose it when it is no longer needed. */
export interface IHold extends IDisposable {
  readonly run: FollowedRun;
}

/** What this page knows of runs. The panel, the notebooks, the status bar and the commands all look at it. */
export interface IAide {
  readonly api: Api;
  /** All runs, newest first; null until the list has come. */
  readonly runs: readonly RunSummary[] | null;
  /** Why the list of runs could not be fetched. */
  readonly error: ApiError | null;
  /** The sandbox as it was last looked at. */
  readonly doctor: Doctor | null;
  readonly place: IPlace;
  /** The run that the panel shows. */
  readonly current: FollowedRun | null;
  /** The versions of the page and of the server where they differ. */
  readonly mismatch: { page: string; server: string } | null;
  /** Anything of the above is another now, save what the followed run says itself. */
  readonly changed: ISignal<IAide, void>;

  /** Follow a run. All that follow the same one share its state and its socket. */
  follow(run: string): IHold;
  /** Show something else in the panel. */
  go(place: Partial<IPlace>): void;
  /** Fetch the list of runs again. */
  refresh(): void;
  /** Look at the sandbox again. */
  examine(): Promise<void>;
}

export const IAide = new Token<IAide>('aide-jupyter:IAide', 'The runs that this page knows, and what its panel shows.');
