import * as React from 'react';

import type { ApiError } from '../api';
import type { Fact, RunSummary } from '../types';
import { useHost } from './host';

interface IButton extends React.ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'main' | 'plain' | 'danger';
}

/**
 * A native button in one of three looks. One that is disabled does nothing but keeps the focus, which a browser would
 * take from it: a person who tabs must not be thrown out by a moment in which nothing can be done.
 */
export const Button = React.forwardRef<HTMLButtonElement, IButton>(
  ({ kind = 'plain', className, disabled = false, onClick, ...rest }, ref) => (
    <button
      type="button"
      ref={ref}
      className={`jp-Aide-button jp-mod-${kind} ${className ?? ''}`}
      aria-disabled={disabled || undefined}
      onClick={event => (disabled ? event.preventDefault() : onClick?.(event))}
      {...rest}
    />
  )
);
Button.displayName = 'Button';

interface INotice {
  kind: 'note' | 'warning' | 'error' | 'success';
  title?: string;
  onClose?: () => void;
  children?: React.ReactNode;
}

const SIGNS = { note: 'i', warning: '⚠', error: '✕', success: '✓' };

/** Something to know: what happened, and what to do. The sign says what the colour says. */
export function Notice({ kind, title, onClose, children }: INotice): JSX.Element {
  const { trans } = useHost();
  return (
    <div className={`jp-Aide-notice jp-mod-${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      <span className="jp-Aide-noticeSign" aria-hidden="true">
        {SIGNS[kind]}
      </span>
      <div className="jp-Aide-noticeText">
        {title && <strong>{title}</strong>}
        {children}
      </div>
      {onClose && (
        <button
          type="button"
          className="jp-Aide-close"
          onClick={onClose}
          aria-label={trans.__('Dismiss')}
          title={trans.__('Dismiss')}
        >
          ×
        </button>
      )}
    </div>
  );
}

/** What the server said about something that did not work. */
export function Problem({ error, onClose }: { error: ApiError | null; onClose?: () => void }): JSX.Element | null {
  return error === null ? null : (
    <Notice kind="error" title={error.message} onClose={onClose}>
      {error.advice && <p>{error.advice}</p>}
    </Notice>
  );
}

/** Bars where something is to come, so that the page does not jump. */
export function Loading({ lines = 3, label }: { lines?: number; label: string }): JSX.Element {
  return (
    <div className="jp-Aide-loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="jp-Aide-loadingBar" style={{ width: `${95 - 17 * (line % 3)}%` }} />
      ))}
    </div>
  );
}

interface ISection {
  title: string;
  open?: boolean;
  count?: number;
  children: React.ReactNode;
}

/** A part that can be folded. */
export function Section({ title, open = false, count, children }: ISection): JSX.Element {
  return (
    <details className="jp-Aide-section" open={open}>
      <summary>
        {title}
        {count !== undefined && <span className="jp-Aide-count">{count}</span>}
      </summary>
      <div className="jp-Aide-sectionBody">{children}</div>
    </details>
  );
}

interface IFieldParts {
  label: string;
  hint?: React.ReactNode;
  className?: string;
  /** Makes the control, with these of its properties. */
  children: (ties: { id: string; 'aria-describedby': string | undefined }) => React.ReactNode;
}

/** A control with its name, and what helps to fill it in. */
export function Field({ label, hint, className, children }: IFieldParts): JSX.Element {
  const id = React.useId();
  return (
    <div className={`jp-Aide-field ${className ?? ''}`}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': hint ? `${id}-hint` : undefined })}
      {hint && (
        <span id={`${id}-hint`} className="jp-Aide-quiet">
          {hint}
        </span>
      )}
    </div>
  );
}

/** Names and values. */
export function Facts({ facts }: { facts: readonly Fact[] }): JSX.Element | null {
  return facts.length === 0 ? null : (
    <dl className="jp-Aide-facts">
      {facts.map((fact, place) => (
        <div key={place}>
          <dt>{fact.name}</dt>
          <dd>{fact.shown}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A text as it is: line breaks and blanks kept, nothing in it is markup. */
export function Literal({ text, label, code }: { text: string; label?: string; code?: boolean }): JSX.Element {
  return code ? (
    <pre className="jp-Aide-pre" tabIndex={0} aria-label={label}>
      {text}
    </pre>
  ) : (
    <div className="jp-Aide-literal">{text}</div>
  );
}

interface ITabs<T extends string> {
  label: string;
  tabs: readonly { id: T; label: string }[];
  selected: T;
  onSelect: (id: T) => void;
  children: React.ReactNode;
}

/** Tabs after the ARIA pattern: one tab stop, arrows move. */
export function Tabs<T extends string>({ label, tabs, selected, onSelect, children }: ITabs<T>): JSX.Element {
  const id = React.useId();
  const move = (event: React.KeyboardEvent<HTMLDivElement>) => {
    const place = tabs.findIndex(tab => tab.id === selected);
    const target = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (target !== undefined) {
      event.preventDefault();
      const next = tabs[(target + tabs.length) % tabs.length];
      onSelect(next.id);
      document.getElementById(`${id}-${next.id}`)?.focus();
    }
  };
  return (
    <div className="jp-Aide-tabs">
      <div role="tablist" aria-label={label} className="jp-Aide-tablist" onKeyDown={move}>
        {tabs.map(tab => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab.id === selected}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === selected ? 0 : -1}
            className="jp-Aide-tab"
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} className="jp-Aide-tabpanel">
        {children}
      </div>
    </div>
  );
}

const PHASES: Record<RunSummary['phase'], string> = {
  preparing: '…',
  failed: '✕',
  running: '▶',
  waiting: '?',
  paused: '‖',
  interrupted: '!',
  closed: '■',
  missing: '∅',
  unreadable: '✕'
};

/** What a run is doing: the sign says it again for those who look quickly. */
export function Phase({ phase, words }: { phase: RunSummary['phase']; words: string }): JSX.Element {
  return (
    <span className={`jp-Aide-phase jp-mod-${phase}`}>
      <span className="jp-Aide-sign" aria-hidden="true">
        {PHASES[phase]}
      </span>
      <span>{words}</span>
    </span>
  );
}
