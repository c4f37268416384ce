import { ISignal, Signal } from '@lumino/signaling';
import type { IStateDB } from '@jupyterlab/statedb';
import type { Event } from '@jupyterlab/services';

import metadata from '../../package.json';
import { Api, ApiError } from './api';
import { FollowedRun } from './followed';
import { Pace } from './pace';
import type { IAide, IHold, IPlace } from './tokens';
import type { Doctor, RunSummary } from './types';

/** The front end's own version; the server's must be the same. */
export const VERSION = metadata.version;
/** The schema of the events that say that a run has come to another record. */
const EVENTS = 'https://events.jupyter.org/aide_jupyter/run/v1';
const PLACE = 'aide-jupyter:place';
/** Milliseconds between two fetches of the list, at least, and until the next where no event came. */
const PACE = 1000;
const LOOK_AGAIN = 30000;

/** What this page knows of runs. */
export class Aide implements IAide {
  constructor(
    readonly api: Api,
    events: Event.IManager,
    private readonly memory: IStateDB | null
  ) {
    events.stream.connect((_, event) => {
      if (event.schema_id === EVENTS) {
        this.refresh();
      }
    });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        this.refresh();
      }
    });
  }

  get runs(): readonly RunSummary[] | null {
    return this._runs;
  }

  get error(): ApiError | null {
    return this._error;
  }

  get doctor(): Doctor | null {
    return this._doctor;
  }

  get place(): IPlace {
    return this._place;
  }

  get current(): FollowedRun | null {
    return this._current?.run ?? null;
  }

  get mismatch(): { page: string; server: string } | null {
    const server = this._server;
    return server === null || server === VERSION ? null : { page: VERSION, server };
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Begin: show again what was shown before the page was loaded, and fetch. */
  async begin(): Promise<void> {
    const kept = await this.memory?.fetch(PLACE).catch(() => undefined);
    if (kept !== undefined && kept !== null) {
      this.go(kept as unknown as IPlace);
    }
    this.refresh();
    try {
      this._doctor = await this.api.doctor();
      this._changed.emit();
    } catch {
      // The list of runs says what is wrong with the server.
    }
  }

  follow(run: string): IHold {
    const entry = this._followed.get(run) ?? { run: new FollowedRun(this.api, run), holds: 0 };
    this._followed.set(run, entry);
    entry.holds += 1;
    let held = true;
    return {
      run: entry.run,
      get isDisposed() {
        return !held;
      },
      dispose: () => {
        if (!held) {
          return;
        }
        held = false;
        entry.holds -= 1;
        if (entry.holds === 0) {
          this._followed.delete(run);
          entry.run.dispose();
        }
      }
    };
  }

  go(place: Partial<IPlace>): void {
    const before = this._place;
    const next = { ...before, ...place };
    if (next.run !== before.run && place.candidate === undefined) {
      next.candidate = null;
    }
    this._place = next;
    const shown = next.page === 'run' ? next.run : null;
    if (shown !== (this._current?.run.run ?? null)) {
      const hold = this._current;
      this._current = shown === null ? null : this.follow(shown);
      hold?.dispose();
    }
    void this.memory?.save(PLACE, { ...next });
    this._changed.emit();
  }

  refresh(): void {
    this._pace.ask();
  }

  async examine(): Promise<void> {
    this._doctor = await this.api.examine();
    this._changed.emit();
  }

  private async fetch(): Promise<void> {
    try {
      const reply = await this.api.runs();
      this._runs = reply.runs;
      this._server = reply.version;
      this._error = null;
    } catch (error) {
      this._error = error instanceof ApiError ? error : new ApiError(0, { message: String(error) });
    }
    this._changed.emit();
  }

  private _runs: readonly RunSummary[] | null = null;
  private _error: ApiError | null = null;
  private _doctor: Doctor | null = null;
  private _server: string | null = null;
  private _place: IPlace = { page: 'runs', run: null, candidate: null };
  private _current: IHold | null = null;
  private readonly _pace = new Pace(
    () => this.fetch(),
    PACE,
    () => LOOK_AGAIN
  );
  private readonly _followed = new Map<string, { run: FollowedRun; holds: number }>();
  private readonly _changed = new Signal<this, void>(this);
}
