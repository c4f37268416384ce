/** What a candidate is called in the reply of `GET runs/<id>/state`; the tree needs these of its fields. */
export interface TreeNode {
  id: string;
  parent: string | null;
  operator: string;
  standing:
    | 'chosen'
    | 'proposed'
    | 'waiting'
    | 'approved'
    | 'running'
    | 'finished'
    | 'good'
    | 'failed'
    | 'rejected'
    | 'edited'
    | 'no program';
  status_words: string;
  value_text: string;
  source: 'final' | 'selection' | 'reported' | null;
  best: boolean;
  flags: number;
  tainted: boolean;
  by_person: boolean;
  plan_line: string;
}

/** The words of the tree, where a host translates them. */
export interface TreeLabels {
  tree: string;
  empty: string;
  best: string;
  flags: string;
  tainted: string;
  person: string;
}

/** The trait `state`: the candidates in the order in which they were chosen. */
export interface TreeState {
  nodes: readonly TreeNode[];
  labels?: Partial<TreeLabels>;
}

/** What the tree asks of its host: an anywidget model, or thirty lines around anything else. */
export interface TreeModel {
  get(name: 'state'): TreeState | null | undefined;
  get(name: 'selected'): string | null | undefined;
  /** A person has selected a candidate. */
  set(name: 'selected', id: string): void;
  save_changes(): void;
  on(name: 'change:state' | 'change:selected', listener: () => void): void;
  off(name: 'change:state' | 'change:selected', listener: () => void): void;
}

export interface RenderOptions {
  model: TreeModel;
  el: HTMLElement;
}

/** A row of the tree: a candidate, and where it stands. */
export interface TreeLine {
  node: TreeNode;
  level: number;
  place: number;
  of: number;
  parent: string | null;
  children: boolean;
}

declare const widget: {
  /** Show the tree in an element. Returns its clean-up. */
  render(options: RenderOptions): () => void;
};
export default widget;
