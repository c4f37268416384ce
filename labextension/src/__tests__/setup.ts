/** What JupyterLab's modules expect of a browser and jsdom does not have. */

const missing: Record<string, unknown> = {
  DragEvent: class extends MouseEvent {},
  PointerEvent: class extends MouseEvent {},
  ResizeObserver: class {
    observe(): void {
      return;
    }
    unobserve(): void {
      return;
    }
    disconnect(): void {
      return;
    }
  },
  IntersectionObserver: class {
    observe(): void {
      return;
    }
    unobserve(): void {
      return;
    }
    disconnect(): void {
      return;
    }
    takeRecords(): unknown[] {
      return [];
    }
  },
  matchMedia: () => ({
    matches: false,
    addEventListener: () => undefined,
    removeEventListener: () => undefined
  }),
  requestIdleCallback: (run: (deadline: object) => void) => setTimeout(() => run({ timeRemaining: () => 50 }), 0),
  cancelIdleCallback: clearTimeout
};

for (const [name, value] of Object.entries(missing)) {
  if ((globalThis as Record<string, unknown>)[name] === undefined) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}

// jsdom has no layout, so nothing to scroll.
Element.prototype.scrollIntoView ??= () => undefined;
