import { python } from '@codemirror/lang-python';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState, Extension } from '@codemirror/state';
import { EditorView, highlightSpecialChars, lineNumbers } from '@codemirror/view';
import { jupyterTheme } from '@jupyterlab/codemirror';
import * as React from 'react';

import { short } from '../format';
import type { Code } from '../types';
import { useHost } from './host';
import { Notice } from './parts';

/** Characters that pass for nothing or turn text around, beyond those that the editor marks by itself. */
// eslint-disable-next-line no-misleading-character-class -- each of these stands for itself
const UNSEEN = /[\u034f\u115f\u1160\u180e\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\uffa0]|[\u{e0000}-\u{e01ef}]/gu;

interface IEditor {
  text: string;
  label: string;
  /** The text to compare with: shown as one text with what was taken out and put in. */
  original?: string;
  /** Whether it gets the focus when it appears. */
  focused?: boolean;
  /** Given where the text can be edited. */
  onChange?: (text: string) => void;
}

/** A program in an editor; read-only unless `onChange` is given. */
export function Editor({ text, label, original, focused, onChange }: IEditor): JSX.Element {
  const { trans } = useHost();
  const place = React.useRef<HTMLDivElement>(null);
  const changed = React.useRef(onChange);
  changed.current = onChange;
  const editable = onChange !== undefined;
  React.useEffect(() => {
    const extensions: Extension[] = [
      jupyterTheme,
      lineNumbers(),
      highlightSpecialChars({ addSpecialChars: UNSEEN }),
      python(),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
      EditorState.phrases.of({ '$ unchanged lines': trans.__('$ unchanged lines') })
    ];
    if (editable) {
      extensions.push(
        EditorView.updateListener.of(update => {
          if (update.docChanged) {
            changed.current?.(update.state.doc.toString());
          }
        })
      );
    } else {
      extensions.push(EditorState.readOnly.of(true), EditorView.editable.of(false));
    }
    if (original !== undefined) {
      extensions.push(
        unifiedMergeView({ original, mergeControls: false, gutter: true, collapseUnchanged: { margin: 3, minSize: 6 } })
      );
    }
    const view = new EditorView({ parent: place.current!, state: EditorState.create({ doc: text, extensions }) });
    if (focused) {
      view.focus();
    }
    return () => view.destroy();
    // An editable text is the person's from then on.
  }, [editable ? null : text, original, editable, label]);
  return <div ref={place} className={`jp-Aide-editor ${editable ? 'jp-mod-editable' : ''}`} />;
}

/** What an eye would miss in a program. */
export function Hidden({ code }: { code: Code }): JSX.Element | null {
  const { trans } = useHost();
  return code.hidden.length === 0 ? null : (
    <Notice kind="warning" title={trans.__('Characters that cannot be seen, or pass for others')}>
      <ul className="jp-Aide-list">
        {code.hidden.map(one => (
          <li key={one.line}>
            {trans.__('Line %1:', one.line)} <code>{one.shown}</code>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

interface IProgram {
  code: Code;
  before?: Code | null;
  beforeWords?: string;
  /** Whether the hash of what runs is said below it: where nothing else says it. */
  hashed?: boolean;
}

/** A program: what changed since the one before it, or the whole of it, and the hash of what runs. */
export function Program({ code, before, beforeWords, hashed = true }: IProgram): JSX.Element {
  const { trans } = useHost();
  const [whole, setWhole] = React.useState(false);
  const compared = before && !whole ? before : null;
  return (
    <div className="jp-Aide-program">
      <div className="jp-Aide-programHead">
        <span className="jp-Aide-quiet">{compared ? beforeWords : trans.__('The whole program')}</span>
        {before && (
          <button type="button" className="jp-Aide-link" onClick={() => setWhole(!whole)}>
            {whole ? trans.__('Show what changed') : trans.__('Show the whole program')}
          </button>
        )}
      </div>
      <Hidden code={code} />
      <Editor
        text={code.exact}
        original={compared?.exact}
        label={compared ? trans.__('What changed in the program') : trans.__('Program')}
      />
      {hashed && (
        <p className="jp-Aide-hash">
          {trans.__('What runs:')} <code title={code.sha256}>{`sha256 ${short(code.sha256)}…`}</code>
        </p>
      )}
    </div>
  );
}
