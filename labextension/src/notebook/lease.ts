import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import type { LeaseMessage, PageMessage, ServerMessage } from '../types';

/** The socket of a run, as the lease needs it. */
export interface ILeaseSocket {
  readonly connected: boolean;
  readonly message: ISignal<unknown, ServerMessage>;
  readonly connectedChanged: ISignal<unknown, boolean>;
  send(message: PageMessage): boolean;
}

/**
 * - `opening`: the server has not said yet who writes.
 * - `writing`: this page does.
 * - `held`: another one does; `revoked`: another one does, and this one did.
 * - `refused`: this file is not the run's notebook, or this person may only look.
 */
export type LeaseState = 'opening' | 'writing' | 'held' | 'revoked' | 'refused';

/** What a word of the server's changes for this page. */
export interface ILeaseChange {
  /** It wrote, and does no longer. */
  lost: boolean;
  /** It writes under another epoch than before, or the server says that somebody else may have written meanwhile. */
  reconcile: boolean;
}

/** Asks the server who writes a notebook: for as long as it is open, again after a lost socket, and under its new name. */
export class Lease implements IDisposable {
  /** @param path Where the notebook is now. */
  constructor(
    private readonly socket: ILeaseSocket,
    private readonly path: () => string
  ) {
    socket.message.connect(this.onMessage, this);
    socket.connectedChanged.connect(this.onConnected, this);
    window.addEventListener('pagehide', this._leave);
  }

  get state(): LeaseState {
    return this._state;
  }

  /** What the server said about it, in words; empty where there is nothing to say. */
  get words(): string {
    return this._words;
  }

  /** Which of all leases of this notebook it is: a page writes only under the last one. */
  get epoch(): number {
    return this._epoch;
  }

  /** Whether another page writes. */
  get away(): boolean {
    return this._state === 'held' || this._state === 'revoked';
  }

  /** The server has said who writes. */
  get changed(): ISignal<this, ILeaseChange> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Whether this page still holds the lease that it held when it began something. */
  holds(epoch: number): boolean {
    return this._state === 'writing' && this._epoch === epoch && !this._disposed;
  }

  /** The notebook is open here, at this path. */
  open(): void {
    this.socket.send({ type: 'open', path: this.path() });
    if (this._take) {
      this.take();
    }
  }

  /** This page is to be the one that writes; asked again once there is a connection. */
  take(): void {
    this._take = !this.socket.send({ type: 'take' });
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    window.removeEventListener('pagehide', this._leave);
    this._leave();
    Signal.disconnectReceiver(this);
    Signal.clearData(this);
  }

  private onConnected(_: unknown, connected: boolean): void {
    if (connected) {
      this.open();
    }
  }

  private onMessage(_: unknown, message: ServerMessage): void {
    if (message.type === 'lease') {
      this._changed.emit(this.update(message));
    }
  }

  private update(message: LeaseMessage): ILeaseChange {
    const granted = message.state === 'granted';
    const change = {
      lost: this._state === 'writing' && !granted,
      reconcile: granted && (message.reconcile || message.epoch !== this._epoch)
    };
    this._epoch = message.epoch;
    this._state = message.state === 'granted' ? 'writing' : message.state;
    this._words = message.words;
    return change;
  }

  private readonly _leave = (): void => {
    this.socket.send({ type: 'close' });
  };

  private _state: LeaseState = 'opening';
  private _words = '';
  private _epoch = -1;
  private _take = false;
  private _disposed = false;
  private readonly _changed = new Signal<this, ILeaseChange>(this);
}
