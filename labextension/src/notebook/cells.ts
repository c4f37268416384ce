import type { ISharedCell, ISharedCodeCell, ISharedNotebook, SharedCell } from '@jupyter/ydoc';
import type { ICell, IOutput } from '@jupyterlab/nbformat';
import { JSONExt, PartialJSONObject, PartialJSONValue } from '@lumino/coreutils';

import { sha256 } from './sha256';

/** A cell of the agent's as the server renders it: nbformat 4.5, texts as single strings. */
export interface IAgentCell {
  id: string;
  cell_type: 'code' | 'markdown' | 'raw';
  source: string;
  metadata: PartialJSONObject;
  outputs?: IOutput[];
}

/** Which run's notebook this says it is; null where it does not say. */
export function runOf(shared: ISharedNotebook): string | null {
  const aide = shared.getMetadata('aide') as PartialJSONObject | undefined;
  const run = aide?.run;
  return typeof run === 'string' && /^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/.test(run) ? run : null;
}

/** The id of a candidate's program cell. */
export function codeCellId(run: string, candidate: string): string {
  return `${run.slice(-8)}-${candidate}-code`;
}

/** The candidate whose program a cell holds, by its id; null for any other cell. Metadata alone can be copied. */
export function candidateOf(run: string, id: string): string | null {
  const found = /^(.*)-(c[0-9]{4,})-code$/.exec(id);
  return found !== null && found[1] === run.slice(-8) ? found[2] : null;
}

/** Where an agent's cell has got to, as its metadata says: `waiting`, `running`, `ok`, `rejected`, … */
export function statusOf(cell: IAgentCell): string {
  const aide = cell.metadata.aide as PartialJSONObject | undefined;
  return typeof aide?.status === 'string' ? aide.status : '';
}

/** Whether an agent's cell is the first one, which tells of the run as a whole. */
export function isHead(cell: IAgentCell): boolean {
  return (cell.metadata.aide as PartialJSONObject | undefined)?.part === 'head';
}

/**
 * Put the agent's cells into a notebook, or put them right, by id, and leave every other cell alone.
 *
 * The rules are those of `aide_jupyter/audit/merge.py`, which does the same to a file: a missing cell goes right after
 * the agent's cell before it, wherever that stands now; none is moved; where a person changed the source of an agent's
 * cell, their text is kept below it as a cell of theirs. Nothing of this can be undone: a person's undo undoes what
 * the person did.
 *
 * @param shared The notebook.
 * @param order The ids of all agent cells, in order.
 * @param cells The cells to put in or right. An id of `order` that is in neither place is left out.
 * @param editing The ids of cells that a person edits now, which are left as they are.
 * @returns Whether anything was changed.
 */
export function upsert(
  shared: ISharedNotebook,
  order: readonly string[],
  cells: readonly IAgentCell[],
  editing: ReadonlySet<string> = new Set()
): boolean {
  const wanted = new Map(cells.map(cell => [cell.id, cell]));
  let changed = false;
  shared.transact(() => {
    const list = new Listed(shared);
    let before = -1;
    for (const id of order) {
      const place = list.place(id);
      const cell = wanted.get(id);
      if (place === -1 && cell !== undefined) {
        before += 1;
        list.insert(before, form(cell));
        changed = true;
      } else if (place !== -1) {
        before = place;
        if (cell !== undefined && !editing.has(id)) {
          changed = putRight(list, place, cell) || changed;
        }
      }
    }
  }, false);
  return changed;
}

/** The ids of `order` that the notebook does not have. */
export function missing(shared: ISharedNotebook, order: readonly string[]): string[] {
  const ids = new Set(shared.cells.map(cell => cell.getId()));
  return order.filter(id => !ids.has(id));
}

/** The notebook's own metadata: the kernel and `aide` are the run's, all else is a person's. */
export function setMetadata(shared: ISharedNotebook, metadata: PartialJSONObject): void {
  shared.transact(() => {
    for (const [name, value] of Object.entries(metadata)) {
      const known = shared.getMetadata(name);
      const kept = name === 'language_info' && isSameLanguage(known, value);
      if (value !== undefined && !kept && !JSONExt.deepEqual(known ?? null, value)) {
        shared.setMetadata(name, value);
      }
    }
  }, false);
}

/** A cell as it goes into a notebook. None is ever marked as trusted. */
function form(cell: IAgentCell): SharedCell.Cell {
  const plain = JSONExt.deepCopy(cell as unknown as PartialJSONObject) as unknown as IAgentCell;
  delete plain.metadata.trusted;
  return (
    plain.cell_type === 'code' ? { ...plain, outputs: plain.outputs ?? [], execution_count: null } : plain
  ) as SharedCell.Cell;
}

/** The cells as they stand while a transaction goes on, when `shared.cells` is still as it was before. */
class Listed {
  private readonly cells: ISharedCell[];

  constructor(readonly shared: ISharedNotebook) {
    this.cells = [...shared.cells];
  }

  place(id: string): number {
    return this.cells.findIndex(cell => cell.getId() === id);
  }

  at(place: number): ISharedCell {
    return this.cells[place];
  }

  insert(place: number, cell: SharedCell.Cell): void {
    this.cells.splice(place, 0, this.shared.insertCell(place, cell));
  }

  replace(place: number, cell: SharedCell.Cell): void {
    this.shared.deleteCell(place);
    this.cells.splice(place, 1);
    this.insert(place, cell);
  }
}

/** Put one cell right, in place where its type allows it, so that its editor and its place in the page stay. */
function putRight(list: Listed, place: number, right: IAgentCell): boolean {
  const cell = list.at(place);
  const kept = keptOf(cell, right);
  const metadata = withoutTrust({ ...cell.getMetadata(), ...right.metadata });
  let changed = kept !== null;
  if (cell.cell_type !== right.cell_type) {
    list.replace(place, form({ ...right, metadata }));
    changed = true;
  } else {
    if (cell.getSource() !== right.source) {
      cell.setSource(right.source);
      changed = true;
    }
    for (const [name, value] of Object.entries(right.metadata)) {
      if (value !== undefined && !JSONExt.deepEqual(cell.getMetadata(name) ?? null, value)) {
        cell.setMetadata(name, value);
        changed = true;
      }
    }
    if (right.cell_type === 'code' && !sameOutputs((cell as ISharedCodeCell).getOutputs(), right.outputs ?? [])) {
      (cell as ISharedCodeCell).setOutputs(right.outputs ?? []);
      changed = true;
    }
  }
  if (kept !== null && list.place(kept.id as string) === -1) {
    list.insert(place + 1, kept);
  }
  return changed;
}

/**
 * What a person made of an agent's cell, as a cell of theirs; null where the source is right, or is what was rendered
 * before, as of a page that grows.
 */
function keptOf(cell: ISharedCell, right: IAgentCell): SharedCell.Cell | null {
  const source = cell.getSource();
  if (!source.trim() || sameText(source, right.source)) {
    return null;
  }
  const aide = cell.getMetadata('aide') as PartialJSONObject | undefined;
  if (right.cell_type === 'markdown' && aide?.source_sha256 === sha256(source)) {
    return null;
  }
  return ownCopy(cell.toJSON()) as SharedCell.Cell;
}

/** What a person made of an agent's cell, as a cell of theirs. Its id is always the same for the same text. */
export function ownCopy(cell: ICell): ICell & { id: string; source: string } {
  const source = Array.isArray(cell.source) ? cell.source.join('') : cell.source;
  const metadata = without(cell.metadata as PartialJSONObject, 'aide', 'editable', 'deletable', 'trusted');
  return { ...cell, metadata, source, id: copyId(cell.id as string, source) };
}

/** Whether a cell is what a person made of this agent's cell, as it was put there and unchanged since. */
export function isOwnCopy(cell: ISharedCell, agents: string): boolean {
  return cell.getId() === copyId(agents, cell.getSource());
}

function copyId(agents: string, source: string): string {
  return `kept-${sha256(`${agents}${source}`).slice(0, 16)}`;
}

/** Metadata without the mark that a page may run what the cell shows: it is never set here, so it is not copied. */
export function withoutTrust(metadata: PartialJSONObject): PartialJSONObject {
  return without(metadata, 'trusted');
}

function without(metadata: PartialJSONObject, ...names: string[]): PartialJSONObject {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !names.includes(name)));
}

/** Whether texts are the same but for the ends of lines. */
export function sameText(left: string, right: string): boolean {
  const unix = (text: string) => text.replace(/\r\n?/g, '\n');
  return unix(left) === unix(right);
}

/** Whether outputs are the same, however their texts are cut into lines. */
function sameOutputs(left: readonly IOutput[], right: readonly IOutput[]): boolean {
  return JSONExt.deepEqual(joined(left as unknown as PartialJSONValue), joined(right as unknown as PartialJSONValue));
}

function joined(value: PartialJSONValue, name = ''): PartialJSONValue {
  if (Array.isArray(value)) {
    const lines = name === 'text' || name.includes('/');
    return lines ? value.join('') : value.map(item => joined(item as PartialJSONValue));
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return Object.fromEntries(entries.map(([key, item]) => [key, joined(item as PartialJSONValue, key)]));
  }
  return value;
}

function isSameLanguage(known: PartialJSONValue | undefined, wanted: PartialJSONValue | undefined): boolean {
  const name = (value: PartialJSONValue | undefined) => (value as PartialJSONObject | undefined)?.name;
  return name(known) !== undefined && name(known) === name(wanted);
}
