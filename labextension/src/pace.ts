import type { IDisposable } from '@lumino/disposable';

/** Fetches what is asked for: never two at once, a pause after each, and by the clock where nobody asks. */
export class Pace implements IDisposable {
  /**
   * @param fetch Fetches; it deals with its own errors.
   * @param pause Milliseconds between the end of one fetch and the next, at least.
   * @param idle Milliseconds until the next one where nobody asks; null where somebody will.
   */
  constructor(
    private readonly fetch: () => Promise<void>,
    private readonly pause: number,
    private readonly idle: () => number | null
  ) {}

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Fetch soon; calls in between are one. */
  ask(): void {
    this._wanted = true;
    if (this._busy || this._disposed) {
      return;
    }
    this._wanted = false;
    this._busy = true;
    window.clearTimeout(this._timer);
    void this.fetch().finally(() => {
      this._timer = window.setTimeout(() => {
        this._busy = false;
        if (this._wanted) {
          this.ask();
        } else {
          this.wait();
        }
      }, this.pause);
    });
  }

  /** What `idle` says may be another now. */
  wait(): void {
    const idle = this._busy || this._disposed ? null : this.idle();
    if (idle !== null) {
      window.clearTimeout(this._timer);
      this._timer = window.setTimeout(() => this.ask(), idle);
    }
  }

  dispose(): void {
    this._disposed = true;
    window.clearTimeout(this._timer);
  }

  private _busy = false;
  private _wanted = false;
  private _disposed = false;
  private _timer = 0;
}
