import * as React from 'react';

import tree from '../../../aide_jupyter/widgets/tree';
import type { TreeModel, TreeState } from '../../../aide_jupyter/widgets/tree';
import type { Node } from '../types';
import { useHost } from './host';

interface ITree {
  nodes: readonly Node[];
  selected: string | null;
  onSelect: (id: string) => void;
}

/** What the tree module asks of its host, with React on the other side. */
class Held implements TreeModel {
  state: TreeState = { nodes: [] };
  selected: string | null = null;
  onSelect: (id: string) => void = () => undefined;

  get(name: 'state'): TreeState;
  get(name: 'selected'): string | null;
  get(name: 'state' | 'selected'): TreeState | string | null {
    return this[name];
  }

  set(_: 'selected', id: string): void {
    this.selected = id;
    this.onSelect(id);
    this.tell('change:selected');
  }

  save_changes(): void {
    return;
  }

  on(name: string, listener: () => void): void {
    this.listeners.set(listener, name);
  }

  off(_: string, listener: () => void): void {
    this.listeners.delete(listener);
  }

  tell(name: string): void {
    for (const [listener, event] of [...this.listeners]) {
      if (event === name) {
        listener();
      }
    }
  }

  private readonly listeners = new Map<() => void, string>();
}

/** The tree of candidates, by the module that the notebook widget uses too. */
export function Tree({ nodes, selected, onSelect }: ITree): JSX.Element {
  const { trans } = useHost();
  const place = React.useRef<HTMLDivElement>(null);
  const [model] = React.useState(() => new Held());
  model.onSelect = onSelect;
  React.useEffect(() => tree.render({ model, el: place.current! }), [model]);
  React.useEffect(() => {
    const labels = {
      tree: trans.__('Candidates'),
      empty: trans.__('There are no candidates yet.'),
      best: trans.__('best'),
      flags: trans.__('flags'),
      tainted: trans.__('descends from suspicious input'),
      person: trans.__('by a person')
    };
    model.state = { nodes, labels };
    model.tell('change:state');
  }, [model, nodes, trans]);
  React.useEffect(() => {
    if (model.selected !== selected) {
      model.selected = selected;
      model.tell('change:selected');
    }
  }, [model, selected]);
  return <div ref={place} className="jp-Aide-tree" />;
}
