import type { ISharedCell, ISharedNotebook, SharedCell } from '@jupyter/ydoc';
import { JSONExt, PartialJSONObject, UUID } from '@lumino/coreutils';

import { withoutTrust } from './cells';

/** A person's cell: what it is, and which of the notebook's cells stands before it. */
interface IOwnCell {
  json: PartialJSONObject;
  after: string | null;
}

/** A person's cells of a notebook at one moment, by id, in order. */
export type Own = ReadonlyMap<string, IOwnCell>;

/** The cells that are not the agent's. */
export function ownOf(shared: ISharedNotebook, isAgents: (id: string) => boolean): Own {
  const own = new Map<string, IOwnCell>();
  let after: string | null = null;
  for (const cell of shared.cells) {
    const id = cell.getId();
    if (!isAgents(id)) {
      own.set(id, { json: cell.toJSON() as unknown as PartialJSONObject, after });
    }
    after = id;
  }
  return own;
}

/** Whether a person has added, changed or removed a cell of theirs. Where it stands does not count. */
export function differ(base: Own, mine: Own): boolean {
  return (
    base.size !== mine.size || [...mine].some(([id, { json }]) => !JSONExt.deepEqual(json, base.get(id)?.json ?? null))
  );
}

/**
 * After the notebook was read from its file again: put back what the person has changed in this page.
 *
 * What only the file has changed stays as the file has it. What both have changed is the person's here, with the
 * file's below it as a cell of its own, so that neither is lost.
 *
 * @param base The person's cells when page and file were last the same.
 * @param mine The person's cells in this page.
 */
export function putBack(shared: ISharedNotebook, base: Own, mine: Own): void {
  const same = (left: PartialJSONObject | undefined, right: PartialJSONObject | undefined) =>
    JSONExt.deepEqual(left ?? null, right ?? null);
  shared.transact(() => {
    const cells = shared.cells.map(cell => ({ id: cell.getId(), json: json(cell) }));
    const place = (id: string | null) => cells.findIndex(cell => cell.id === id);
    const insert = (at: number, cell: PartialJSONObject) => {
      const metadata = withoutTrust(cell.metadata as PartialJSONObject);
      shared.insertCell(at, { ...cell, metadata } as unknown as SharedCell.Cell);
      cells.splice(at, 0, { id: cell.id as string, json: cell });
    };
    const remove = (at: number) => {
      shared.deleteCell(at);
      cells.splice(at, 1);
    };
    for (const [id, { json: wanted, after }] of mine) {
      const before = base.get(id)?.json;
      const at = place(id);
      const theirs = at === -1 ? undefined : cells[at].json;
      if (same(wanted, before) || same(wanted, theirs)) {
        continue;
      }
      if (at === -1) {
        insert(after === null ? 0 : place(after) === -1 ? cells.length : place(after) + 1, wanted);
        continue;
      }
      remove(at);
      insert(at, wanted);
      if (!same(theirs, before)) {
        insert(at + 1, { ...theirs, id: UUID.uuid4() });
      }
    }
    for (const [id, { json: before }] of base) {
      const at = place(id);
      if (!mine.has(id) && at !== -1 && same(cells[at].json, before)) {
        remove(at);
      }
    }
  }, false);
}

function json(cell: ISharedCell): PartialJSONObject {
  return cell.toJSON() as unknown as PartialJSONObject;
}
