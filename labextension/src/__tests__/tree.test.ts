/** The tree: what it shows, the keyboard, and that its cost in the page does not grow with the run. */

import tree, { TreeModel, TreeNode, TreeState } from '../../../aide_jupyter/widgets/tree';

class FakeModel implements TreeModel {
  saved: (string | null)[] = [];
  selected: string | null = null;
  state: TreeState = { nodes: [] };
  private listeners = new Map<string, Set<() => void>>();

  get(name: 'state'): TreeState;
  get(name: 'selected'): string | null;
  get(name: 'state' | 'selected'): TreeState | string | null {
    return name === 'state' ? this.state : this.selected;
  }
  set(_: 'selected', id: string): void {
    this.selected = id;
  }
  save_changes(): void {
    this.saved.push(this.selected);
    this.emit('change:selected');
  }
  on(name: string, listener: () => void): void {
    this.listeners.set(name, (this.listeners.get(name) ?? new Set()).add(listener));
  }
  off(name: string, listener: () => void): void {
    this.listeners.get(name)?.delete(listener);
  }
  emit(name: string): void {
    this.listeners.get(name)?.forEach(listener => listener());
  }
  get listening(): number {
    return [...this.listeners.values()].reduce((sum, one) => sum + one.size, 0);
  }
  show(nodes: TreeNode[]): void {
    this.state = { nodes };
    this.emit('change:state');
  }
}

function node(number: number, more: Partial<TreeNode> = {}): TreeNode {
  return {
    id: `c${String(number).padStart(4, '0')}`,
    parent: null,
    operator: 'draft',
    standing: 'good',
    status_words: 'graded on hidden rows',
    value_text: '',
    source: null,
    best: false,
    flags: 0,
    tainted: false,
    by_person: false,
    plan_line: '',
    ...more
  };
}

const many = (count: number): TreeNode[] => Array.from({ length: count }, (_, index) => node(index + 1));

describe('the tree', () => {
  let model: FakeModel;
  let el: HTMLElement;
  let clean: () => void;

  const rows = () => [...el.querySelectorAll<HTMLElement>('[role=treeitem]')];
  const ids = () => rows().map(row => row.dataset.candidate);
  const row = (id: string) => el.querySelector<HTMLElement>(`[data-candidate="${id}"]`)!;
  const press = (key: string) =>
    (document.activeElement ?? document.body).dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
    );
  const focus = () => (document.activeElement as HTMLElement).dataset.candidate;

  function scroll(top: number): void {
    const element = el.querySelector<HTMLElement>('[role=tree]')!;
    element.scrollTop = top;
    element.dispatchEvent(new Event('scroll'));
  }

  beforeEach(() => {
    model = new FakeModel();
    el = document.body.appendChild(document.createElement('div'));
    clean = tree.render({ model, el });
  });
  afterEach(() => {
    clean();
    el.remove();
  });

  it('says that there are no candidates, until there is one', () => {
    expect(el.textContent).toContain('There are no candidates yet.');
    model.show(many(1));
    expect(el.querySelector<HTMLElement>('.aide-Tree-empty')!.hidden).toBeTruthy();
  });

  it('shows children below their parent, depth first, with levels for a screen reader', () => {
    model.show([node(1), node(2), node(3, { parent: 'c0001' }), node(4, { parent: 'c0003' })]);
    expect(ids()).toEqual(['c0001', 'c0003', 'c0004', 'c0002']);
    expect(row('c0004').getAttribute('aria-level')).toBe('3');
    expect(row('c0002').getAttribute('aria-posinset')).toBe('2');
    expect(row('c0002').getAttribute('aria-setsize')).toBe('2');
    expect(row('c0001').getAttribute('aria-expanded')).toBe('true');
    expect(row('c0002').hasAttribute('aria-expanded')).toBe(false);
  });

  it('tells where each has got to in words and by shape, not by colour alone', () => {
    const standings = ['good', 'failed', 'waiting', 'rejected'] as const;
    model.show(standings.map((standing, index) => node(index + 1, { standing })));
    const marks = rows().map(one => one.querySelector('.aide-Tree-mark')!.textContent);
    expect(new Set(marks).size).toBe(standings.length);
    model.show([
      node(1, {
        value_text: '0.81',
        source: 'selection',
        best: true,
        flags: 2,
        status_words: 'graded on hidden rows'
      })
    ]);
    const said = row('c0001').getAttribute('aria-label')!;
    for (const part of ['0.81 selection', 'best', '2 flags', 'graded on hidden rows']) {
      expect(said).toContain(part);
    }
  });

  it('puts every text into the page as text', () => {
    model.show([node(1, { plan_line: '<img src=x onerror=alert(1)>' })]);
    expect(el.querySelector('img')).toBeNull();
    expect(el.textContent).toContain('<img src=x onerror=alert(1)>');
  });

  it('selects by click and by Enter, and shows a selection made elsewhere', () => {
    model.show(many(3));
    row('c0002').click();
    expect(model.saved).toEqual(['c0002']);
    expect(row('c0002').getAttribute('aria-selected')).toBe('true');
    press('ArrowDown');
    press('Enter');
    expect(model.saved).toEqual(['c0002', 'c0003']);
    model.selected = 'c0001';
    model.emit('change:selected');
    expect(row('c0001').getAttribute('aria-selected')).toBe('true');
    expect(row('c0003').getAttribute('aria-selected')).toBe('false');
  });

  it('is driven by the keys of the tree pattern, with one row in the tab order', () => {
    model.show([node(1), node(2, { parent: 'c0001' }), node(3)]);
    expect(rows().filter(one => one.tabIndex === 0)).toHaveLength(1);
    row('c0001').focus();
    press('ArrowRight');
    expect(focus()).toBe('c0002');
    press('ArrowLeft');
    expect(focus()).toBe('c0001');
    press('ArrowLeft');
    expect(ids()).toEqual(['c0001', 'c0003']);
    expect(row('c0001').getAttribute('aria-expanded')).toBe('false');
    press('End');
    expect(focus()).toBe('c0003');
    press('Home');
    press('ArrowRight');
    expect(ids()).toEqual(['c0001', 'c0002', 'c0003']);
    expect(rows().filter(one => one.tabIndex === 0)).toHaveLength(1);
  });

  it('keeps the focus and its row while others come, also scrolled out of sight', () => {
    model.show(many(1000));
    row('c0003').focus();
    scroll(28 * 500);
    model.show([...many(1000), node(1001, { parent: 'c0001' })]);
    expect(focus()).toBe('c0003');
    expect(row('c0003').isConnected).toBe(true);
    press('ArrowDown');
    expect(focus()).toBe('c0004');
  });

  it('keeps what is read in its place when rows come in above it', () => {
    model.show(many(1000));
    scroll(28 * 500 + 5);
    model.show([...many(1000), node(1001, { parent: 'c0001' })]);
    expect(el.querySelector('[role=tree]')!.scrollTop).toBe(28 * 501 + 5);
  });

  it('follows a selection made elsewhere into what is closed and out of sight', () => {
    model.show([...many(500), node(501, { parent: 'c0450' })]);
    row('c0001').focus();
    (document.activeElement as HTMLElement).blur();
    model.selected = 'c0501';
    model.emit('change:selected');
    expect(row('c0501').getAttribute('aria-selected')).toBe('true');
    expect(el.querySelector('[role=tree]')!.scrollTop).toBeGreaterThan(0);
  });

  it('has at most 200 rows of 1,000 in the page, wherever it is scrolled to', () => {
    model.show(many(1000));
    for (const top of [0, 28 * 400, 28 * 990]) {
      scroll(top);
      expect(rows().length).toBeGreaterThan(10);
      expect(rows().length).toBeLessThanOrEqual(200);
    }
  });

  it('changes as much of the page for one more of 1,000 as for one more of 50', async () => {
    const changes = async (count: number): Promise<number> => {
      model.show(many(count));
      const observer = new MutationObserver(() => undefined);
      observer.observe(el, {
        subtree: true,
        childList: true,
        attributes: true,
        characterData: true
      });
      model.show([...many(count), node(count + 1, { parent: 'c0001', best: true })]);
      const found = observer
        .takeRecords()
        .reduce((sum, one) => sum + 1 + one.addedNodes.length + one.removedNodes.length, 0);
      observer.disconnect();
      return found;
    };
    const few = await changes(50);
    expect(await changes(1000)).toBeLessThanOrEqual(few + 10);
    expect(few).toBeLessThan(200);
  });

  it('draws a chain of a thousand fixes, and does not hang on a candidate that is its own parent', () => {
    model.show([
      node(1, { parent: 'c9999' }),
      ...Array.from({ length: 999 }, (_, index) => node(index + 2, { parent: node(index + 1).id }))
    ]);
    expect(row('c0001').getAttribute('aria-level')).toBe('1');
    model.show([node(1, { parent: 'c0001' }), node(2)]);
    expect(ids()).toEqual(['c0002']);
  });

  it('leaves nothing behind', () => {
    model.show(many(3));
    clean();
    expect(el.childElementCount).toBe(0);
    expect(model.listening).toBe(0);
    clean = () => undefined;
  });
});
