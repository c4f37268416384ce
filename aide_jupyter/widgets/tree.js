// @ts-check
/**
 * The tree of a run's candidates, for the side panel and for the notebook widget. One plain module: no build, no
 * import, nothing fetched. Every text goes into the page as text.
 *
 * The tree is windowed: only the rows in sight are in the page (at most MOST), so that adding one to a thousand
 * candidates changes as much of the page as adding one to twenty. Rows are kept by candidate and never moved, so the
 * keyboard's focus and the place that is being read stay where they are while the run goes on.
 *
 * The types are in tree.d.ts.
 */

/** Height of a row in pixels. Rows are placed by it, so it does not depend on their text. */
const ROW = 28;
/** Rows in the page, at most, the one with the focus included. */
const MOST = 200;
/** Rows above and below those in sight. */
const MARGIN = 10;
/** The height that is taken where none can be measured, as before the element is in a page. */
const UNMEASURED = 420;
/** A chain of fixes can be long: deeper levels are no longer indented, `aria-level` still tells them. */
const INDENTED = 10;

/** What stands for where a candidate has got to. The shapes differ, so that colour only repeats what they say. */
const MARKS = {
  chosen: '…',
  proposed: '◌',
  waiting: '?',
  approved: '◔',
  running: '▶',
  finished: '◑',
  good: '✓',
  failed: '✕',
  rejected: '⊘',
  edited: '✎',
  'no program': '∅'
};

/** The words of this module, in English; a host can give its own as `state.labels`. */
const LABELS = {
  tree: 'Candidates',
  empty: 'There are no candidates yet.',
  best: 'best',
  flags: 'flags',
  tainted: 'descends from suspicious input',
  person: 'by a person'
};

const STYLE = `
.aide-Tree { position: relative; overflow: auto; overflow-anchor: none; max-height: var(--aide-tree-height, 420px);
  font-family: var(--jp-ui-font-family, sans-serif); font-size: var(--jp-ui-font-size1, 13px);
  color: var(--jp-ui-font-color1, currentColor); }
.aide-Tree-empty { padding: 8px; color: var(--jp-ui-font-color2, currentColor); }
.aide-Tree-row { position: absolute; left: 0; right: 0; height: ${ROW}px; box-sizing: border-box; display: flex;
  align-items: center; gap: 5px; padding-right: 8px; white-space: nowrap; overflow: hidden; cursor: default; }
.aide-Tree-row:hover { background: var(--jp-layout-color2, rgba(128, 128, 128, .12)); }
.aide-Tree-row[aria-selected="true"] { background: var(--jp-layout-color3, rgba(128, 128, 128, .25));
  box-shadow: inset 3px 0 0 var(--jp-brand-color1, Highlight); }
.aide-Tree-row:focus-visible { outline: 2px solid var(--jp-focus-outline-color, var(--jp-brand-color1, Highlight));
  outline-offset: -2px; }
.aide-Tree-twist { flex: 0 0 13px; text-align: center; cursor: pointer; }
.aide-Tree-mark { flex: 0 0 15px; text-align: center; font-weight: 600; }
.aide-Tree-row[data-standing="good"] .aide-Tree-mark { color: var(--jp-success-color1, inherit); }
.aide-Tree-row[data-standing="failed"] .aide-Tree-mark,
.aide-Tree-row[data-standing="no program"] .aide-Tree-mark { color: var(--jp-error-color1, inherit); }
.aide-Tree-row[data-standing="waiting"] .aide-Tree-mark { color: var(--jp-warn-color0, inherit); }
.aide-Tree-best, .aide-Tree-badge { flex: none; }
.aide-Tree-badge { padding: 0 5px; border: 1px solid currentColor; border-radius: 8px;
  font-size: var(--jp-ui-font-size0, 11px); }
.aide-Tree-best:empty, .aide-Tree-badge:empty, .aide-Tree-value:empty { display: none; }
.aide-Tree-name, .aide-Tree-value, .aide-Tree-status, .aide-Tree-plan { min-width: 0; overflow: hidden;
  text-overflow: ellipsis; }
.aide-Tree-name, .aide-Tree-value { font-variant-numeric: tabular-nums; }
.aide-Tree-value { flex: 0 1 auto; font-weight: 600; }
.aide-Tree-name { flex: 0 10000 auto; min-width: 5ch; text-overflow: clip; }
.aide-Tree-status, .aide-Tree-plan { color: var(--jp-ui-font-color2, inherit); }
.aide-Tree-status { flex: 0 100000000 auto; }
.aide-Tree-plan { flex: 1 1 0; }
`;

/** The parts of a row, in order. Where there is little room the plan goes first, then the status, then the operator. */
const PARTS = ['twist', 'mark', 'name', 'best', 'value', 'badge', 'status', 'plan'];

/** A row's element with what was last put into it, so that nothing is written twice. */
class Row {
  constructor() {
    this.element = document.createElement('div');
    this.element.className = 'aide-Tree-row';
    this.element.setAttribute('role', 'treeitem');
    this.parts = PARTS.map(part => {
      const span = document.createElement('span');
      span.className = `aide-Tree-${part}`;
      span.setAttribute('aria-hidden', 'true');
      return this.element.appendChild(span);
    });
    /** @type {Record<string, string>} */
    this.known = {};
  }

  /** @param {string[]} texts */
  write(texts) {
    texts.forEach((text, index) => {
      if (this.known[index] !== text) {
        this.known[index] = text;
        this.parts[index].textContent = text;
      }
    });
  }

  /** @param {string} name @param {string | null} value */
  attribute(name, value) {
    if (this.known[name] === (value ?? undefined)) {
      return;
    }
    if (value === null) {
      delete this.known[name];
      this.element.removeAttribute(name);
    } else {
      this.known[name] = value;
      this.element.setAttribute(name, value);
    }
  }

  /** @param {number} top @param {number} indent Both in pixels. */
  place(top, indent) {
    if (this.known.top !== `${top}`) {
      this.known.top = `${top}`;
      this.element.style.top = `${top}px`;
    }
    if (this.known.indent !== `${indent}`) {
      this.known.indent = `${indent}`;
      this.element.style.paddingLeft = `${indent}px`;
    }
  }
}

/** One view of the tree in one element. */
class Tree {
  /** @param {import('./tree').RenderOptions} options */
  constructor({ model, el }) {
    this.model = model;
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {Set<string>} */
    this.closed = new Set();
    /** @type {import('./tree').TreeLine[]} */
    this.lines = [];
    /** @type {Map<string, number>} */
    this.places = new Map();
    /** @type {string | null} */
    this.active = null;
    /** @type {{ id: string, above: number } | null} The row at the top of what is in sight, and what of it is not. */
    this.anchor = null;

    this.style = document.createElement('style');
    this.style.textContent = STYLE;
    this.empty = document.createElement('div');
    this.empty.className = 'aide-Tree-empty';
    this.element = document.createElement('div');
    this.element.className = 'aide-Tree';
    this.element.setAttribute('role', 'tree');
    this.space = this.element.appendChild(document.createElement('div'));
    this.space.setAttribute('role', 'none');
    el.append(this.style, this.empty, this.element);

    this.onState = () => this.update();
    this.onSelected = () => this.follow();
    this.onScroll = () => this.scrolled();
    model.on('change:state', this.onState);
    model.on('change:selected', this.onSelected);
    this.element.addEventListener('scroll', this.onScroll, { passive: true });
    this.element.addEventListener('click', event => this.clicked(event));
    this.element.addEventListener('keydown', event => this.pressed(event));
    this.element.addEventListener('focusin', event => this.focused(event));
    if (typeof ResizeObserver !== 'undefined') {
      this.sizes = new ResizeObserver(() => this.paint());
      this.sizes.observe(this.element);
    }
    this.update();
    this.follow();
  }

  dispose() {
    this.model.off('change:state', this.onState);
    this.model.off('change:selected', this.onSelected);
    this.sizes?.disconnect();
    this.style.remove();
    this.empty.remove();
    this.element.remove();
    this.rows.clear();
  }

  /** @returns {import('./tree').TreeState} */
  get state() {
    return this.model.get('state') || { nodes: [] };
  }

  get labels() {
    return { ...LABELS, ...this.state.labels };
  }

  get selected() {
    return this.model.get('selected') ?? null;
  }

  /** There is another state. What is at the top of the view stays there. */
  update() {
    this.arrange();
    const place = this.anchor === null ? undefined : this.places.get(this.anchor.id);
    this.stretch();
    if (this.anchor !== null && place !== undefined && (place > 0 || this.anchor.above > 0)) {
      this.element.scrollTop = place * ROW + this.anchor.above;
    }
    this.paint();
  }

  /** The rows in order, depth first, without those below a closed one. A parent that is not there makes a root. */
  arrange() {
    const nodes = this.state.nodes ?? [];
    const known = new Set(nodes.map(node => node.id));
    /** @type {Map<string | null, import('./tree').TreeNode[]>} */
    const below = new Map();
    for (const node of nodes) {
      const parent = node.parent !== null && known.has(node.parent) ? node.parent : null;
      const siblings = below.get(parent);
      siblings ? siblings.push(node) : below.set(parent, [node]);
    }
    this.lines = [];
    this.places = new Map();
    /** @type {import('./tree').TreeLine[]} */
    const stack = [];
    const push = (/** @type {string | null} */ parent, /** @type {number} */ level) => {
      const siblings = below.get(parent) ?? [];
      for (let index = siblings.length - 1; index >= 0; index--) {
        const node = siblings[index];
        stack.push({ node, level, place: index + 1, of: siblings.length, parent, children: below.has(node.id) });
      }
    };
    push(null, 1);
    for (let line = stack.pop(); line !== undefined; line = stack.pop()) {
      this.places.set(line.node.id, this.lines.length);
      this.lines.push(line);
      if (line.children && !this.closed.has(line.node.id)) {
        push(line.node.id, line.level + 1);
      }
    }
    if (this.active === null || !this.places.has(this.active)) {
      this.active = this.nearest(this.active) ?? this.lines[0]?.node.id ?? null;
    }
  }

  /** The lowest ancestor of a candidate that has a row. @param {string | null} id */
  nearest(id) {
    const parents = new Map((this.state.nodes ?? []).map(node => [node.id, node.parent]));
    for (let seen = 0; id !== null && seen <= parents.size; seen++) {
      if (this.places.has(id)) {
        return id;
      }
      id = parents.get(id) ?? null;
    }
    return null;
  }

  stretch() {
    const height = `${this.lines.length * ROW}px`;
    if (this.space.style.height !== height) {
      this.space.style.height = height;
    }
    const none = this.lines.length === 0;
    const words = none ? this.labels.empty : '';
    if (this.empty.textContent !== words) {
      this.empty.textContent = words;
    }
    if (this.empty.hidden === none) {
      this.empty.hidden = !none;
    }
    if (this.element.getAttribute('aria-label') !== this.labels.tree) {
      this.element.setAttribute('aria-label', this.labels.tree);
    }
  }

  /** Put the rows in sight into the page, and take the others out. */
  paint() {
    const height = this.element.clientHeight || UNMEASURED;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - MARGIN);
    const count = Math.min(MOST - 1, Math.ceil(height / ROW) + 2 * MARGIN);
    const wanted = this.lines.slice(first, first + count);
    const active = this.active === null ? undefined : this.places.get(this.active);
    if (active !== undefined && active < first) {
      wanted.unshift(this.lines[active]);
    } else if (active !== undefined && active >= first + count) {
      wanted.push(this.lines[active]);
    }
    const kept = new Set(wanted.map(line => line.node.id));
    for (const [id, row] of this.rows) {
      if (!kept.has(id)) {
        row.element.remove();
        this.rows.delete(id);
      }
    }
    let next = this.space.firstChild;
    for (const line of wanted) {
      let row = this.rows.get(line.node.id);
      if (row === undefined) {
        row = new Row();
        row.element.dataset.candidate = line.node.id;
        this.rows.set(line.node.id, row);
      }
      this.fill(row, line);
      if (row.element === next) {
        next = next.nextSibling;
      } else {
        this.space.insertBefore(row.element, next);
      }
    }
  }

  /** @param {Row} row @param {import('./tree').TreeLine} line */
  fill(row, line) {
    const { node } = line;
    const open = line.children ? !this.closed.has(node.id) : null;
    const labels = this.labels;
    const best = node.best ? labels.best : '';
    const value = node.value_text ? `${node.value_text} ${node.source ?? ''}`.trim() : '';
    const name = `${node.id} ${node.operator}`;
    row.write([
      open === null ? '' : open ? '▾' : '▸',
      MARKS[node.standing] ?? '•',
      name,
      best && '★',
      value,
      node.flags ? `⚑ ${node.flags}` : '',
      node.standing === 'good' ? '' : node.status_words,
      node.plan_line
    ]);
    const said = [
      name,
      node.status_words,
      value,
      best,
      node.flags ? `${node.flags} ${labels.flags}` : '',
      node.tainted ? labels.tainted : '',
      node.by_person ? labels.person : '',
      node.plan_line
    ];
    row.attribute('aria-label', said.filter(Boolean).join(', '));
    row.attribute('aria-level', `${line.level}`);
    row.attribute('aria-posinset', `${line.place}`);
    row.attribute('aria-setsize', `${line.of}`);
    row.attribute('aria-expanded', open === null ? null : `${open}`);
    row.attribute('aria-selected', `${node.id === this.selected}`);
    row.attribute('tabindex', node.id === this.active ? '0' : '-1');
    row.attribute('data-standing', node.standing);
    row.attribute('title', node.plan_line || null);
    row.place((this.places.get(node.id) ?? 0) * ROW, 4 + 14 * Math.min(line.level - 1, INDENTED));
  }

  scrolled() {
    const top = this.element.scrollTop;
    const line = this.lines[Math.floor(top / ROW)];
    this.anchor = line === undefined ? null : { id: line.node.id, above: top % ROW };
    this.paint();
  }

  /** Another candidate was selected, here or elsewhere: show it, unless the person is moving about in the tree. */
  follow() {
    const id = this.selected;
    if (id !== null && id !== this.active && !this.element.contains(document.activeElement)) {
      this.open(id);
      if (this.places.has(id)) {
        this.active = id;
        this.reveal(id);
      }
    }
    this.paint();
  }

  /** Open what a candidate lies below. @param {string} id */
  open(id) {
    const parents = new Map((this.state.nodes ?? []).map(node => [node.id, node.parent]));
    let parent = parents.get(id) ?? null;
    for (let seen = 0; parent !== null && seen <= parents.size; seen++) {
      this.closed.delete(parent);
      parent = parents.get(parent) ?? null;
    }
    this.arrange();
    this.stretch();
  }

  /** Scroll no further than needed for a row to be seen. @param {string} id */
  reveal(id) {
    const top = (this.places.get(id) ?? 0) * ROW;
    const height = this.element.clientHeight || UNMEASURED;
    if (top < this.element.scrollTop) {
      this.element.scrollTop = top;
    } else if (top + ROW > this.element.scrollTop + height) {
      this.element.scrollTop = top + ROW - height;
    }
  }

  /** @param {string} id */
  select(id) {
    this.model.set('selected', id);
    this.model.save_changes();
    this.paint();
  }

  /** @param {string} id @param {boolean} open */
  toggle(id, open) {
    open ? this.closed.delete(id) : this.closed.add(id);
    this.update();
  }

  /** Move the focus to a row. @param {number} place */
  go(place) {
    const line = this.lines[Math.max(0, Math.min(place, this.lines.length - 1))];
    if (line === undefined) {
      return;
    }
    this.active = line.node.id;
    this.reveal(this.active);
    this.paint();
    this.rows.get(this.active)?.element.focus({ preventScroll: true });
  }

  /** The candidate of the row in which something happened. @param {Event} event */
  at(event) {
    const row = event.target instanceof Element ? event.target.closest('.aide-Tree-row') : null;
    return row instanceof HTMLElement ? (row.dataset.candidate ?? null) : null;
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const id = this.at(event);
    const place = id === null ? undefined : this.places.get(id);
    if (id === null || place === undefined) {
      return;
    }
    const twist = event.target instanceof Element && event.target.classList.contains('aide-Tree-twist');
    this.go(place);
    if (twist && this.lines[place].children) {
      this.toggle(id, this.closed.has(id));
    } else {
      this.select(id);
    }
  }

  /** @param {FocusEvent} event */
  focused(event) {
    const id = this.at(event);
    if (id !== null && id !== this.active) {
      this.active = id;
      this.paint();
    }
  }

  /** The keys of the tree pattern of the ARIA practices. @param {KeyboardEvent} event */
  pressed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || this.active === null) {
      return;
    }
    const place = this.places.get(this.active) ?? 0;
    const line = this.lines[place];
    const page = Math.max(1, Math.floor((this.element.clientHeight || UNMEASURED) / ROW) - 1);
    const open = line.children && !this.closed.has(this.active);
    switch (event.key) {
      case 'ArrowDown':
        this.go(place + 1);
        break;
      case 'ArrowUp':
        this.go(place - 1);
        break;
      case 'PageDown':
        this.go(place + page);
        break;
      case 'PageUp':
        this.go(place - page);
        break;
      case 'Home':
        this.go(0);
        break;
      case 'End':
        this.go(this.lines.length - 1);
        break;
      case 'ArrowRight':
        if (open) {
          this.go(place + 1);
        } else if (line.children) {
          this.toggle(this.active, true);
        }
        break;
      case 'ArrowLeft':
        if (open) {
          this.toggle(this.active, false);
        } else if (line.parent !== null) {
          this.go(this.places.get(line.parent) ?? place);
        }
        break;
      case 'Enter':
      case ' ':
        this.select(this.active);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {import('./tree').RenderOptions} options */
function render(options) {
  const tree = new Tree(options);
  return () => tree.dispose();
}

export default { render };
