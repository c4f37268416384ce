/** Who writes an open notebook, when, and what survives it. */

import type { ISharedCodeCell } from '@jupyter/ydoc';

import { SAVE_EVERY } from '../notebook/saves';
import { NotebookWriter } from '../notebookWriter';
import { agentCell, FakeContext, FakeFile, FakeRun, notebookFile, ownCell } from './notebook';

const settle = () => vi.advanceTimersByTimeAsync(0);
const begin = () => [agentCell('head', '# Run'), agentCell('c0001-plan', 'one', { status: 'waiting' })];

describe('the notebook’s writer', () => {
  let file: FakeFile;
  let context: FakeContext;
  let run: FakeRun;
  let writer: NotebookWriter;
  let editing: Map<string, string>;

  function open(): void {
    context = new FakeContext(file);
    writer = new NotebookWriter(
      run,
      context.context,
      context.page(() => editing)
    );
  }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    file = notebookFile(ownCell('mine', 'x = 1'));
    run = new FakeRun().render(...begin());
    editing = new Map();
    open();
  });
  afterEach(() => {
    writer.dispose();
    vi.useRealTimers();
  });

  it('asks for the lease when the notebook is opened, and gives it up when it is closed', () => {
    expect(run.sent).toEqual([{ type: 'open', path: context.localPath }]);
    context.disposed.emit();
    expect(run.sent.at(-1)).toEqual({ type: 'close' });
    expect(writer.isDisposed).toBe(true);
  });

  it('writes nothing until the server has said that it may', async () => {
    run.tell();
    await settle();
    expect(context.ids()).toEqual(['mine']);
    run.lease('held', 1);
    await settle();
    expect(context.ids()).toEqual(['mine']);
    expect(run.asked).toEqual([]);
  });

  it('puts the cells in, saves, and says what it has written', async () => {
    run.lease('granted', 1, true);
    await settle();
    expect(context.sources()).toEqual(['# Run', 'one', 'x = 1']);
    expect(file.notebook.cells).toHaveLength(3);
    expect(run.sent.at(-1)).toMatchObject({ type: 'written', seq: 1, epoch: 1 });
  });

  it('fetches only what is new', async () => {
    run.lease('granted', 1, true);
    await settle();
    run.render(agentCell('c0001-code', 'print(1)', { status: 'waiting' })).tell();
    await settle();
    run.tell();
    await settle();
    expect(run.asked).toEqual([-1, 1]);
  });

  it('saves after a decision and an end, at most every three seconds, and not while a program runs', async () => {
    run.lease('granted', 1, true);
    await settle();
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    const written = file.written;
    for (const status of ['waiting', 'running', 'running']) {
      run.render(agentCell('c0001-plan', `one, ${status} ${run.seq}`, { status })).tell();
      await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    }
    expect(file.written).toBe(written);
    for (const status of ['ok', 'ok', 'ok', 'ok']) {
      run.render(agentCell('c0001-plan', `one, ${status} ${run.seq}`, { status })).tell();
      await settle();
    }
    expect(file.written).toBe(written + 1);
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    expect(file.written).toBe(written + 2);
    expect(file.notebook.cells[1].source).toBe(`one, ok ${run.seq - 1}`);
  });

  it('leaves nothing to be asked about when only the agent has written', async () => {
    run.lease('granted', 1, true);
    await settle();
    run.render(agentCell('c0001-plan', 'one, further', { status: 'running' })).tell();
    await settle();
    expect(context.model.dirty).toBe(false);
    context.model.dirty = true;
    run.render(agentCell('c0001-plan', 'one, further still', { status: 'running' })).tell();
    await settle();
    expect(context.model.dirty).toBe(true);
  });

  it('reads the file first where another has written it, and keeps what the person typed', async () => {
    context.shared.cells[0].setSource('x = 2');
    file.change(cells => cells.push(ownCell('theirs', 'y')));
    run.lease('granted', 1, true);
    await settle();
    expect(context.sources()).toEqual(['# Run', 'one', 'x = 2', 'y']);
    await settle();
    expect(file.notebook.cells.map(cell => cell.source)).toEqual(context.sources());
    expect(context.dialogs).toBe(0);
  });

  it('loses nothing that is typed while the file is being read', async () => {
    file.change(cells => cells.push(ownCell('theirs', 'y')));
    context.onRevert = () => context.shared.cells[0].setSource('x = 1, typed late');
    run.lease('granted', 1, true);
    await settle();
    expect(context.sources()).toContain('x = 1, typed late');
  });

  it('does not read the file again where it is as the page knows it', async () => {
    const cell = context.shared.cells[0];
    run.lease('granted', 1, true);
    await settle();
    expect(context.shared.cells).toContain(cell);
  });

  it('never saves over a file that changed: it puts both together first', async () => {
    run.lease('granted', 1, true);
    await settle();
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    file.change(cells => cells.push(ownCell('theirs', 'y')));
    run.render(agentCell('c0001-plan', 'one, ok')).tell();
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    expect(context.dialogs).toBe(0);
    expect(file.notebook.cells.map(cell => cell.source)).toEqual(['# Run', 'one, ok', 'x = 1', 'y']);
  });

  it('stops at once when the lease is gone, and is not asked about by JupyterLab’s autosave', async () => {
    run.lease('granted', 1, true);
    await settle();
    context.shared.cells.at(-1)!.setSource('typed');
    context.model.dirty = true;
    run.lease('revoked', 2);
    const written = file.written;
    run.render(agentCell('c0001-plan', 'one, ok')).tell();
    await vi.advanceTimersByTimeAsync(2 * SAVE_EVERY);
    expect(file.written).toBe(written);
    expect(context.sources()).toContain('one');
    expect(context.model.dirty).toBe(false);
    expect(writer.unsaved).toBe(true);
    expect(run.count('take')).toBe(0);
  });

  it('moves the lease here with the first edit, and saves it once both are together', async () => {
    run.lease('held', 1);
    await settle();
    expect(run.count('take')).toBe(0);
    context.shared.cells[0].setSource('x = 3');
    expect(run.count('take')).toBeGreaterThan(0);
    file.change(cells => cells.push(ownCell('theirs', 'y')));
    run.lease('granted', 2, true);
    await settle();
    expect(file.notebook.cells.map(cell => cell.source)).toEqual(['# Run', 'one', 'x = 3', 'y']);
    expect(writer.unsaved).toBe(false);
  });

  it('keeps a person’s own save to the lease', async () => {
    run.lease('held', 1);
    await context.save();
    expect([file.written, run.count('take')]).toEqual([0, 0]);
    context.shared.cells[0].setSource('x = 4');
    await context.save();
    expect(file.written).toBe(0);
    expect(run.count('take')).toBeGreaterThan(0);
    run.lease('granted', 2, true);
    await settle();
    expect(file.notebook.cells.map(cell => cell.source)).toContain('x = 4');
  });

  it('saves one after the other, so that no save finds the file changed by another of this page', async () => {
    run.lease('granted', 1, true);
    context.shared.cells[0].setSource('x = 5');
    file.change(cells => cells.push(ownCell('theirs', 'y')));
    await Promise.all([context.save(), context.save(), settle()]);
    expect(context.dialogs).toBe(0);
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    expect(file.notebook.cells.map(cell => cell.source)).toEqual(['# Run', 'one', 'x = 5', 'y']);
  });

  it('does not write under an epoch that ended while it was asking for cells', async () => {
    const cells = run.api.cells;
    run.api.cells = async (name, after) => {
      const reply = await cells(name, after);
      run.lease('revoked', 2);
      return reply;
    };
    run.lease('granted', 1, true);
    await settle();
    expect(context.ids()).toEqual(['mine']);
  });

  it('opens again after a lost connection and a rename, and goes on where it was', async () => {
    run.lease('granted', 1, true);
    await settle();
    run.connected = false;
    run.connectedChanged.emit(false);
    run.render(agentCell('c0001-code', 'print(1)'));
    run.connected = true;
    run.connectedChanged.emit(true);
    context.localPath = 'elsewhere.ipynb';
    context.pathChanged.emit('elsewhere.ipynb');
    expect(run.count('open')).toBe(3);
    expect(run.sent.at(-1)).toEqual({ type: 'open', path: 'elsewhere.ipynb' });
    run.lease('granted', 1);
    run.tell();
    await settle();
    expect(context.sources()).toEqual(['# Run', 'one', 'print(1)', 'x = 1']);
    expect(run.asked).toEqual([-1, 1]);
  });

  it('remembers that it is to continue here until it is connected', () => {
    run.lease('held', 1);
    run.connected = false;
    writer.take();
    expect(run.count('take')).toBe(0);
    run.connected = true;
    run.connectedChanged.emit(true);
    expect(run.sent.map(message => message.type)).toEqual(['open', 'open', 'take']);
  });

  it('tries again where the server did not answer', async () => {
    const cells = run.api.cells;
    run.api.cells = () => Promise.reject(new Error('away'));
    run.lease('granted', 1, true);
    await settle();
    run.api.cells = cells;
    await vi.advanceTimersByTimeAsync(5000);
    expect(context.sources()).toContain('one');
  });

  it('puts a cell back that has gone, though it did not change', async () => {
    run.lease('granted', 1, true);
    await settle();
    context.shared.deleteCell(1);
    run.render(agentCell('head', '# Run, further')).tell();
    await settle();
    expect(context.sources()).toEqual(['# Run, further', 'one', 'x = 1']);
  });

  it('shows in the file what was recorded, once a person who ran a cell of the agent’s has saved', async () => {
    run.render(agentCell('c0001-code', 'print(1)'));
    run.lease('granted', 1, true);
    await settle();
    const code = context.shared.cells[2] as ISharedCodeCell;
    code.setOutputs([{ output_type: 'stream', name: 'stdout', text: 'again' }]);
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    expect(code.getOutputs()).toHaveLength(1);
    await context.save();
    await vi.advanceTimersByTimeAsync(2 * SAVE_EVERY);
    expect(code.getOutputs()).toEqual([]);
    expect(file.notebook.cells[2].outputs).toEqual([]);
  });

  it('leaves a waiting program alone while a person edits it, and ends that when it is decided elsewhere', async () => {
    run.render(agentCell('c0001-code', 'print(1)', { status: 'waiting' }));
    run.lease('granted', 1, true);
    await settle();
    const code = context.shared.cells[2];
    editing.set(code.getId(), 'print(1)');
    code.setSource('print(1 + 1)');
    run.render(agentCell('c0001-code', 'print(1)', { status: 'waiting' })).tell();
    await settle();
    expect(code.getSource()).toBe('print(1 + 1)');
    run.render(agentCell('c0001-code', 'print(1)', { status: 'running' })).tell();
    await settle();
    expect(context.sources()).toEqual(['# Run', 'one', 'print(1)', 'print(1 + 1)', 'x = 1']);
  });

  it('has in the file the program that was proposed, with the draft below it, while a person edits it', async () => {
    run.render(agentCell('c0001-code', 'print(1)', { status: 'waiting' }));
    run.lease('granted', 1, true);
    await settle();
    const code = context.shared.cells[2] as ISharedCodeCell;
    editing.set(code.getId(), 'print(1)');
    code.setMetadata('editable', true);
    await context.save();
    expect(file.notebook.cells[2]).toMatchObject({ source: 'print(1)', metadata: { editable: false } });
    expect(file.notebook.cells).toHaveLength(4);

    code.setSource('print(1 + 1)');
    code.setOutputs([{ output_type: 'stream', name: 'stdout', text: '2' }]);
    await context.save();
    const [, , agents, draft] = file.notebook.cells;
    expect(agents).toMatchObject({ id: code.getId(), source: 'print(1)', outputs: [] });
    expect(draft.source).toBe('print(1 + 1)');
    expect(draft.metadata).toEqual({});
    expect(context.sources()).toEqual(['# Run', 'one', 'print(1 + 1)', 'x = 1']);
    expect(code.getMetadata('editable')).toBe(true);

    editing.clear();
    code.setSource('print(1)');
    code.setOutputs([]);
    await context.save();
    expect(file.notebook.cells.map(cell => cell.source)).toEqual(['# Run', 'one', 'print(1)', 'x = 1']);
  });

  it('goes on with a draft where the file was read again', async () => {
    run.render(agentCell('c0001-code', 'print(1)', { status: 'waiting' }));
    run.lease('granted', 1, true);
    await settle();
    const id = context.ids()[2];
    editing.set(id, 'print(1)');
    context.shared.cells[2].setSource('print(2)');
    await context.save();
    context.shared.cells[2].setSource('print(2, 3)');
    file.change(cells => cells.push(ownCell('theirs', 'y')));
    run.lease('granted', 2, true);
    await settle();
    expect(context.sources()).toEqual(['# Run', 'one', 'print(2, 3)', 'x = 1', 'y']);
    expect(context.shared.cells[2].getMetadata('editable')).toBe(true);
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    expect(file.notebook.cells.map(cell => cell.source)).toEqual([
      '# Run',
      'one',
      'print(1)',
      'print(2, 3)',
      'x = 1',
      'y'
    ]);
  });

  it('writes nothing into a file that is not the run’s notebook', async () => {
    run.lease('refused', 0);
    context.shared.cells[0].setSource('typed');
    run.tell();
    await vi.advanceTimersByTimeAsync(SAVE_EVERY);
    expect(context.ids()).toEqual(['mine']);
    expect(run.count('take')).toBe(0);
    expect(file.written).toBe(0);
  });

  it('leaves saving to the room where there is one, and needs no reading again', async () => {
    context.model.collaborative = true;
    file.change(cells => cells.push(ownCell('theirs', 'y')));
    const cell = context.shared.cells[0];
    run.lease('granted', 1, true);
    await settle();
    expect(context.shared.cells).toContain(cell);
    expect(context.sources()).toEqual(['# Run', 'one', 'x = 1']);
  });
});
