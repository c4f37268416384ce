import * as React from 'react';

/**
 * Keep the keyboard's place in a part of the page.
 *
 * Where what has the focus is taken out, as a card that is decided about, a browser would begin again at the top of
 * the page. Instead the nearest thing around it that can have the focus gets it.
 *
 * @returns Ends it, after a last look at what goes away together with it.
 */
export function keepFocus(part: HTMLElement): () => void {
  /** What had the focus last, and all around it, from the inside. */
  let around: HTMLElement[] = [];
  const note = (target: EventTarget | null) => {
    around = [];
    for (let one = target; one instanceof HTMLElement; one = one.parentElement) {
      around.push(one);
    }
  };
  const came = (event: FocusEvent) => note(event.target);
  const went = (event: FocusEvent) => {
    if (event.relatedTarget !== null) {
      around = [];
      return;
    }
    // Chromium tells of it before the element is taken out, so whether the person has left is known only afterwards.
    queueMicrotask(() => {
      if (around[0]?.isConnected && !around[0].contains(document.activeElement)) {
        around = [];
      }
    });
  };
  const look = () => {
    const nowhere = document.activeElement === null || document.activeElement === document.body;
    if (around.length > 0 && !around[0].isConnected) {
      const heir = around.find(one => one.isConnected && one.hasAttribute('tabindex'));
      around = [];
      if (nowhere) {
        heir?.focus({ preventScroll: true });
      }
    }
  };
  const observer = new MutationObserver(look);
  observer.observe(part, { childList: true, subtree: true });
  part.addEventListener('focusin', came);
  part.addEventListener('focusout', went);
  if (part.contains(document.activeElement)) {
    note(document.activeElement);
  }
  return () => {
    observer.disconnect();
    part.removeEventListener('focusin', came);
    part.removeEventListener('focusout', went);
    queueMicrotask(look);
  };
}

/** As `keepFocus`, for the element that gets the reference. */
export function useKeptFocus<T extends HTMLElement>(): React.RefObject<T> {
  const part = React.useRef<T>(null);
  // Before the element is taken out: an ordinary effect would be ended after that.
  React.useLayoutEffect(() => keepFocus(part.current!), []);
  return part;
}
