import { UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import type { Api } from './api';
import type { PageMessage, ServerMessage } from './types';

/** Names this page for as long as it is loaded, whatever sockets it opens. */
export const TAB = UUID.uuid4();

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;

/** The socket of one run. It connects again by itself, and says so: what was missed must be fetched. */
export class Live implements IDisposable {
  constructor(
    private readonly api: Api,
    readonly run: string
  ) {
    this.connect();
  }

  /** A message of the server. */
  get message(): ISignal<this, ServerMessage> {
    return this._message;
  }

  /** The socket has opened (true) or was lost (false). */
  get connectedChanged(): ISignal<this, boolean> {
    return this._connectedChanged;
  }

  get connected(): boolean {
    return this._socket?.readyState === WebSocket.OPEN;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Send a message. False where there is no connection: the caller sends it again after `connectedChanged`. */
  send(message: PageMessage): boolean {
    if (!this.connected) {
      return false;
    }
    this._socket!.send(JSON.stringify(message));
    return true;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    window.clearTimeout(this._timer);
    this._socket?.close();
    Signal.clearData(this);
  }

  private connect(): void {
    const { WebSocket: Socket } = this.api.settings;
    const socket = new Socket(this.api.socket(this.run, TAB));
    this._socket = socket;
    socket.onopen = () => {
      this._wait = FIRST_WAIT;
      this._connectedChanged.emit(true);
    };
    socket.onmessage = event => {
      this._message.emit(JSON.parse(event.data) as ServerMessage);
    };
    socket.onclose = () => {
      if (this._disposed || this._socket !== socket) {
        return;
      }
      this._socket = null;
      this._connectedChanged.emit(false);
      this._timer = window.setTimeout(() => this.connect(), this._wait);
      this._wait = Math.min(2 * this._wait, LONGEST_WAIT);
    };
  }

  private _socket: WebSocket | null = null;
  private _disposed = false;
  private _timer = 0;
  private _wait = FIRST_WAIT;
  private readonly _message = new Signal<this, ServerMessage>(this);
  private readonly _connectedChanged = new Signal<this, boolean>(this);
}
