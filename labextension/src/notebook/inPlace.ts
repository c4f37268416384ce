import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';

/** Milliseconds in which Markdown cells that were put in are rendered: JupyterLab waits one second for more changes. */
const RENDERING = 2000;

/**
 * Change cells so that what a person looks at stays where it is, and what they type goes where it went.
 *
 * That is the active cell where it is in sight, else the first cell of theirs that is, else the first. Where a cell above the active one is
 * replaced, as a program that is rejected, JupyterLab would make another cell active and give it the focus.
 */
export function still<T>(panel: NotebookPanel, isAgents: (id: string) => boolean, change: () => T): T {
  const { content } = panel;
  const outer = content.outerNode;
  const top = outer.getBoundingClientRect().top;
  const inSight = (cell: Cell | null) => {
    const place = cell?.isAttached ? cell.node.getBoundingClientRect() : null;
    return place !== null && place.height > 0 && place.bottom > top && place.top < top + outer.clientHeight;
  };
  const seen = content.widgets.filter(inSight);
  const kept = inSight(content.activeCell)
    ? content.activeCell
    : (seen.find(cell => !isAgents(cell.model.id)) ?? seen[0] ?? null);
  const before = kept?.node.getBoundingClientRect().top ?? 0;
  const active = content.activeCell;
  const id = active?.model.id;
  const { mode } = content;
  const element = document.activeElement;
  const focused = element instanceof HTMLElement && content.node.contains(element) ? element : null;

  const result = change();

  const place = content.widgets.findIndex(cell => cell.model.id === id);
  if (place !== -1 && content.activeCellIndex !== place) {
    content.activeCellIndex = place;
  }
  if (active !== null && !active.isDisposed && content.mode !== mode) {
    content.mode = mode;
  }
  if (focused !== null && focused.isConnected && document.activeElement !== focused) {
    if (active?.editorWidget?.node.contains(focused)) {
      active.editor?.focus();
    } else {
      focused.focus({ preventScroll: true });
    }
  }
  let put = NaN;
  const settle = () => {
    const moved = kept?.isAttached && !kept.isDisposed ? kept.node.getBoundingClientRect().top - before : 0;
    if (Math.abs(moved) >= 1 && !Number.isNaN(put) && outer.scrollTop !== put) {
      return false; // Something else has scrolled, as to show a program.
    }
    outer.scrollTop += moved;
    put = outer.scrollTop;
    return true;
  };
  settle();
  settling(outer, settle);
  return result;
}

/** Do something again while what was put in is being rendered, until it says that it is over or the person scrolls. */
function settling(outer: HTMLElement, settle: () => boolean): void {
  const observer = new ResizeObserver(() => {
    if (!settle()) {
      end();
    }
  });
  const inner = outer.firstElementChild;
  const events = ['wheel', 'pointerdown', 'keydown', 'touchmove'];
  const end = () => {
    observer.disconnect();
    events.forEach(event => outer.removeEventListener(event, end));
    window.clearTimeout(timer);
  };
  const timer = window.setTimeout(end, RENDERING);
  events.forEach(event => outer.addEventListener(event, end, { passive: true }));
  if (inner !== null) {
    observer.observe(inner);
  }
}

/** Read the notebook anew, and put the person back where they were. */
export async function anew(panel: NotebookPanel, change: () => Promise<void>): Promise<void> {
  const { content } = panel;
  const id = content.activeCell?.model.id;
  const { mode } = content;
  const focused = content.node.contains(document.activeElement);
  const cursor = content.activeCell?.editor?.getCursorPosition();
  const top = content.outerNode.scrollTop;
  await change();
  const place = content.widgets.findIndex(cell => cell.model.id === id);
  if (panel.isDisposed || place === -1) {
    return;
  }
  content.activeCellIndex = place;
  content.outerNode.scrollTop = top;
  const cell = content.widgets[place];
  if (focused && mode === 'edit') {
    content.mode = 'edit';
    await cell.ready;
    if (cursor !== undefined) {
      cell.editor?.setCursorPosition(cursor);
    }
    cell.editor?.focus();
  } else if (focused) {
    cell.node.focus();
  }
}
