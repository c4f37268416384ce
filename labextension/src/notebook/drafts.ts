import type { ICell, ICodeCell, INotebookContent } from '@jupyterlab/nbformat';

import { ownCopy, sameText } from './cells';

/**
 * A notebook as it goes into its file while a person edits waiting programs in their cells.
 *
 * The file says what is recorded: the agent's cell with the program as it was proposed. What the person has written so
 * far stands below it as a cell of theirs, so that neither a reload nor a crash loses it, and `verify` has nothing to
 * say about it. The page itself has the draft in the agent's cell and no such copy.
 *
 * @param content The notebook as the page has it.
 * @param editing The programs as they were proposed, by the ids of the cells in which they are edited.
 */
export function withoutDrafts(content: INotebookContent, editing: ReadonlyMap<string, string>): INotebookContent {
  const ids = new Set(content.cells.map(cell => cell.id));
  const cells = content.cells.flatMap((cell): ICell[] => {
    const proposed = editing.get(cell.id as string);
    if (proposed === undefined) {
      return [cell];
    }
    const agents: ICodeCell = {
      ...(cell as ICodeCell),
      source: proposed,
      outputs: [],
      execution_count: null,
      metadata: { ...cell.metadata, editable: false }
    };
    const draft = ownCopy(cell);
    const known = sameText(draft.source, proposed) || !draft.source.trim() || ids.has(draft.id);
    return known ? [agents] : [agents, draft];
  });
  return { ...content, cells };
}
