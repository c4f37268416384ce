import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { IStateDB } from '@jupyterlab/statedb';
import type { ISignal } from '@lumino/signaling';
import * as React from 'react';

import { ApiError } from '../api';
import type { Answer } from '../commands';
import type { FollowedRun } from '../followed';
import type { IAide } from '../tokens';

/** What the parts of the panel need of the application around them. */
export interface IHost {
  aide: IAide;
  trans: TranslationBundle;
  /** Not everywhere: then a folder is typed. */
  documents: IDocumentManager | null;
  memory: IStateDB | null;
  /** Opens a run's notebook beside the panel, without starting a kernel. */
  openNotebook: (path: string) => void | Promise<void>;
  /** Asks before something that cannot be taken back. */
  confirm: (title: string, text: string, button: string) => Promise<boolean>;
  /** Emitted when a command wants the person to look at the question of a candidate. */
  attention: ISignal<unknown, IAttention>;
  /** What a command has asked for and no card has taken up yet: a card may not be in the page when it is asked. */
  wish?: { current: IAttention | null };
}

/** The question of a candidate, and the answer that the person has in mind. It is theirs to give. */
export interface IAttention {
  candidate: string;
  answer: Answer | null;
}

export const Host = React.createContext<IHost | null>(null);

export function useHost(): IHost {
  const host = React.useContext(Host);
  if (host === null) {
    throw new Error('This part of the panel is shown outside of it.');
  }
  return host;
}

/** Render again whenever a signal is emitted. */
export function useSignal(signal: ISignal<unknown, unknown> | null | undefined): void {
  const [, again] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    if (!signal) {
      return undefined;
    }
    signal.connect(again);
    return () => {
      signal.disconnect(again);
    };
  }, [signal]);
}

/** Render again every second while `active`. */
export function useSeconds(active: boolean): void {
  const [, again] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    if (!active) {
      return undefined;
    }
    const timer = window.setInterval(again, 1000);
    return () => window.clearInterval(timer);
  }, [active]);
}

/** Something that a person has asked for: whether it is under way, and why it failed. */
export interface IAction {
  busy: boolean;
  error: ApiError | null;
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  clear: () => void;
}

/** One thing at a time: a second click while the first is under way does nothing. */
export function useAction(): IAction {
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<ApiError | null>(null);
  const under = React.useRef(false);
  const there = React.useRef(true);
  React.useEffect(() => {
    there.current = true;
    return () => {
      there.current = false;
    };
  }, []);
  const run = React.useCallback(async (work: () => Promise<unknown>) => {
    if (under.current) {
      return false;
    }
    under.current = true;
    setBusy(true);
    setError(null);
    try {
      await work();
      return true;
    } catch (problem) {
      if (there.current) {
        setError(problem instanceof ApiError ? problem : new ApiError(0, { message: String(problem) }));
      }
      return false;
    } finally {
      under.current = false;
      if (there.current) {
        setBusy(false);
      }
    }
  }, []);
  const clear = React.useCallback(() => setError(null), []);
  return { busy, error, run, clear };
}

/** Something fetched, again whenever a dependency is another. What was there stays until the new has come. */
export function useFetched<T>(
  fetch: () => Promise<T>,
  dependencies: readonly unknown[]
): { value: T | null; error: ApiError | null } {
  const [value, setValue] = React.useState<T | null>(null);
  const [error, setError] = React.useState<ApiError | null>(null);
  React.useEffect(() => {
    let wanted = true;
    fetch().then(
      found => {
        if (wanted) {
          setValue(found);
          setError(null);
        }
      },
      (problem: unknown) => {
        if (wanted) {
          setError(problem instanceof ApiError ? problem : new ApiError(0, { message: String(problem) }));
        }
      }
    );
    return () => {
      wanted = false;
    };
  }, dependencies);
  return { value, error };
}

/** The run that the panel shows, rendered again as it goes on. */
export function useRun(): FollowedRun | null {
  const { aide } = useHost();
  useSignal(aide.changed);
  useSignal(aide.current?.changed);
  return aide.current;
}
