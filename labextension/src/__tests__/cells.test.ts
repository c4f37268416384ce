import type { IOutput } from '@jupyterlab/nbformat';

import { candidateOf, codeCellId, missing, runOf, setMetadata, upsert } from '../notebook/cells';
import { differ, ownOf, putBack } from '../notebook/own';
import { agentCell, FakeContext, notebookFile, ownCell, RUN } from './notebook';

const order = ['head', 'c0001-plan', 'c0001-code', 'c0002-plan', 'c0002-code'].map(name => `${RUN.slice(-8)}-${name}`);
const all = () => [
  agentCell('head', '# Run'),
  agentCell('c0001-plan', 'one'),
  agentCell('c0001-code', 'print(1)'),
  agentCell('c0002-plan', 'two'),
  agentCell('c0002-code', 'print(2)')
];
const short = (context: FakeContext) => context.ids().map(id => id.replace(`${RUN.slice(-8)}-`, ''));
const isAgents = (id: string) => id.startsWith(RUN.slice(-8));

describe('upsert', () => {
  it('puts a missing pair right after the agent cell before it, wherever that stands, and moves nothing', () => {
    const context = new FakeContext(notebookFile(ownCell('mine', 'x = 1')));
    upsert(context.shared, order, all().slice(0, 3));
    expect(short(context)).toEqual(['head', 'c0001-plan', 'c0001-code', 'mine']);
    context.shared.moveCell(2, 0);
    const own = context.shared.addCell({ cell_type: 'code', id: 'last', source: 'y' });
    upsert(context.shared, order, all());
    expect(short(context)).toEqual(['c0001-code', 'c0002-plan', 'c0002-code', 'head', 'c0001-plan', 'mine', 'last']);
    expect(context.shared.cells.at(-1)).toBe(own);
  });

  it('changes nothing where all is right, and keeps each cell object where only its content is another', () => {
    const context = new FakeContext(notebookFile());
    expect(upsert(context.shared, order, all())).toBe(true);
    const cells = [...context.shared.cells];
    expect(upsert(context.shared, order, all())).toBe(false);
    const head = agentCell('head', '# Run, further');
    expect(upsert(context.shared, order, [head])).toBe(true);
    expect(context.shared.cells.every((cell, index) => cell === cells[index])).toBe(true);
    expect(context.sources()[0]).toBe('# Run, further');
  });

  it('is nothing that a person can undo, and leaves what they can', () => {
    const context = new FakeContext(notebookFile(ownCell('mine', '')));
    const mine = context.shared.cells[0];
    mine.updateSource(0, 0, 'typed');
    upsert(context.shared, order, all());
    upsert(context.shared, order, [agentCell('head', '# Run, further')]);
    expect(context.shared.canUndo()).toBe(false);
    mine.undo();
    expect(mine.getSource()).toBe('');
    expect(short(context)).toEqual(['head', 'c0001-plan', 'c0001-code', 'c0002-plan', 'c0002-code', 'mine']);
  });

  it('turns a rejected program into a raw cell in its place', () => {
    const context = new FakeContext(notebookFile());
    upsert(context.shared, order, all());
    const rejected = agentCell('c0001-code', 'print(1)', { cell_type: 'raw', outputs: undefined });
    upsert(context.shared, order, [rejected]);
    expect(context.shared.cells.map(cell => cell.cell_type)).toEqual([
      'markdown',
      'markdown',
      'raw',
      'markdown',
      'code'
    ]);
  });

  it('restores a changed program and keeps the text of the person below it, once', () => {
    const context = new FakeContext(notebookFile());
    upsert(context.shared, order, all());
    for (let times = 0; times < 2; times++) {
      context.shared.cells[2].setSource('print("mine")');
      expect(upsert(context.shared, order, all())).toBe(true);
    }
    expect(context.sources()).toEqual(['# Run', 'one', 'print(1)', 'print("mine")', 'two', 'print(2)']);
    const kept = context.shared.cells[3];
    expect(kept.getId()).toMatch(/^kept-[0-9a-f]{16}$/);
    expect(kept.getMetadata()).toEqual({});
  });

  it('lets a page of its own grow without keeping what it was before', () => {
    const context = new FakeContext(notebookFile());
    upsert(context.shared, order, all());
    upsert(context.shared, order, [agentCell('c0001-plan', 'one, and what came of it')]);
    expect(context.shared.cells).toHaveLength(5);
    context.shared.cells[1].setSource('a note of mine');
    upsert(context.shared, order, [agentCell('c0001-plan', 'one, further')]);
    expect(context.sources().slice(1, 3)).toEqual(['one, further', 'a note of mine']);
  });

  it('leaves a cell alone that a person edits now', () => {
    const context = new FakeContext(notebookFile());
    upsert(context.shared, order, all());
    context.shared.cells[2].setSource('print(1 + 1)');
    upsert(context.shared, order, all(), new Set([order[2]]));
    expect(context.sources()[2]).toBe('print(1 + 1)');
  });

  it('puts outputs in as they were recorded, and knows them again however their lines are cut', () => {
    const outputs: IOutput[] = [
      { output_type: 'stream', name: 'stdout', text: 'a\nb\n' },
      { output_type: 'error', ename: 'E', evalue: 'v', traceback: ['one', 'two'] },
      { output_type: 'display_data', data: { 'image/png': 'iVBO' }, metadata: {} }
    ];
    const context = new FakeContext(notebookFile());
    upsert(context.shared, order, all());
    upsert(context.shared, order, [agentCell('c0001-code', 'print(1)', { outputs })]);
    expect(context.shared.toJSON().cells[2].outputs).toEqual(outputs);
    context.file.text = JSON.stringify(context.shared.toJSON());
    context.file.change(cells => ((cells[2].outputs as IOutput[])[0].text = ['a\n', 'b\n'].join('')));
    expect(upsert(context.shared, order, [agentCell('c0001-code', 'print(1)', { outputs })])).toBe(false);
  });

  it('marks no cell as trusted, whatever it is given', () => {
    const context = new FakeContext(notebookFile());
    const cell = agentCell('c0001-code', 'print(1)');
    cell.metadata.trusted = true;
    upsert(context.shared, order, [cell]);
    expect(context.shared.cells[0].getMetadata('trusted')).toBeUndefined();
  });

  it('says which cells are gone', () => {
    const context = new FakeContext(notebookFile());
    upsert(context.shared, order, all());
    context.shared.deleteCell(3);
    expect(missing(context.shared, order)).toEqual([order[3]]);
  });
});

describe('the names of cells', () => {
  it('tell a candidate by the id alone', () => {
    expect(candidateOf(RUN, codeCellId(RUN, 'c0007'))).toBe('c0007');
    expect(candidateOf(RUN, 'zzzzzzzz-c0007-code')).toBeNull();
    expect(candidateOf(RUN, `${RUN.slice(-8)}-c0007-plan`)).toBeNull();
  });

  it('tell the run by the notebook, and nothing from what is no id', () => {
    const context = new FakeContext(notebookFile());
    expect(runOf(context.shared)).toBe(RUN);
    context.shared.setMetadata('aide', { run: '../../x' });
    expect(runOf(context.shared)).toBeNull();
  });

  it('leave a person’s own metadata of the notebook alone', () => {
    const context = new FakeContext(notebookFile());
    context.shared.setMetadata('mine', 1);
    context.shared.setMetadata('language_info', { name: 'python', version: '3.11' });
    setMetadata(context.shared, { aide: { run: RUN, head: 3 }, language_info: { name: 'python' } });
    expect(context.shared.getMetadata()).toEqual({
      aide: { run: RUN, head: 3 },
      mine: 1,
      language_info: { name: 'python', version: '3.11' }
    });
  });
});

describe('what is put back after a notebook was read again', () => {
  const begin = () => {
    const context = new FakeContext(notebookFile(ownCell('a', 'a'), ownCell('b', 'b'), ownCell('c', 'c')));
    return { context, base: ownOf(context.shared, isAgents) };
  };
  const again = (context: FakeContext, base: ReturnType<typeof ownOf>) => {
    const mine = ownOf(context.shared, isAgents);
    context.shared.setSource(context.file.json);
    putBack(context.shared, base, mine);
    return differ(base, mine);
  };

  it('is what the person changed, added and removed; the rest is as in the file', () => {
    const { context, base } = begin();
    context.file.change(cells => (cells[1].source = 'b of another'));
    context.shared.cells[0].setSource('a of mine');
    context.shared.deleteCell(2);
    context.shared.insertCell(1, { cell_type: 'code', id: 'new', source: 'new' });
    expect(again(context, base)).toBe(true);
    expect(context.sources()).toEqual(['a of mine', 'new', 'b of another']);
  });

  it('is nothing where the person changed nothing', () => {
    const { context, base } = begin();
    context.file.change(cells => cells.push(ownCell('d', 'd')));
    expect(again(context, base)).toBe(false);
    expect(context.sources()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('is both where both changed the same cell', () => {
    const { context, base } = begin();
    context.file.change(cells => (cells[1].source = 'theirs'));
    context.shared.cells[1].setSource('mine');
    again(context, base);
    expect(context.sources()).toEqual(['a', 'mine', 'theirs', 'c']);
    expect(new Set(context.ids()).size).toBe(4);
  });
});
