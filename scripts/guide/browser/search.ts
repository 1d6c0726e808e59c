/** The search dialog: an input and a list of results, after the combobox pattern of WAI-ARIA. */
import type { Found } from '../found.ts';
import { createFinder, excerptOf, type Finder, type Hit, markedOf } from './find.ts';

const INDEX = '/guide/search.json';

function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function marked(text: string, terms: readonly string[]): readonly (Node | string)[] {
  return markedOf(text, terms).map((piece) => (piece.isMarked ? make('mark', {}, piece.text) : piece.text));
}

function whereOf({ found: { page, headings }, terms }: Hit): HTMLElement {
  const where = make('span', { class: 'search-where' }, ...marked(page, terms));
  for (const heading of headings) {
    where.append(make('i', {}, '›'), ...marked(heading, terms));
  }
  return where;
}

function excerptHtml({ found, terms }: Hit): HTMLElement {
  return make('span', { class: 'search-text' }, ...marked(excerptOf(found.text, terms), terms));
}

function optionOf(hit: Hit, at: number): HTMLAnchorElement {
  return make(
    'a',
    { id: `_result-${at}`, role: 'option', href: hit.found.path, tabindex: '-1', 'aria-selected': 'false' },
    whereOf(hit),
    excerptHtml(hit),
  );
}

interface Box {
  readonly dialog: HTMLDialogElement;
  readonly input: HTMLInputElement;
  readonly results: HTMLElement;
  readonly said: HTMLElement;
}

function makeBox(): Box {
  const input = make('input', {
    type: 'search',
    role: 'combobox',
    'aria-label': 'Search guide and API',
    'aria-controls': '_results',
    'aria-expanded': 'false',
    'aria-autocomplete': 'list',
    placeholder: 'Search guide and API',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    enterkeyhint: 'go',
  });
  const close = make('button', { type: 'button', class: 'search-close' }, 'Close');
  const said = make('p', { class: 'search-said', role: 'status' });
  const results = make('div', {
    class: 'search-results',
    id: '_results',
    role: 'listbox',
    'aria-label': 'Results',
  });
  const head = make('div', { class: 'search-head' }, input, close);
  const dialog = make('dialog', { class: 'search', 'aria-label': 'Search' }, head, said, results);
  close.addEventListener('click', () => dialog.close());
  // A click outside the box targets the dialog itself: its backdrop.
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close());
  document.body.append(dialog);
  return { dialog, input, results, said };
}

/** A cursor in the results that the arrow keys move while the input keeps the focus. */
function createCursor({ input, results }: Box) {
  let at = 0;
  const options = (): readonly Element[] => [...results.children];
  const show = (): void => {
    for (const [index, option] of options().entries()) {
      option.setAttribute('aria-selected', String(index === at));
    }
    const chosen = options()[at];
    input.setAttribute('aria-activedescendant', chosen?.id ?? '');
    chosen?.scrollIntoView({ block: 'nearest', behavior: 'instant' });
  };
  return {
    to: (index: number): void => {
      const { length } = options();
      at = length === 0 ? 0 : (index + length) % length;
      show();
    },
    by: (step: number): number => at + step,
    open: (): void => (options()[at] as HTMLElement | undefined)?.click(),
  };
}

/** Loads the index when the search is first opened, and again after a failure. */
function createLoader(): () => Promise<Finder> {
  let finder: Promise<Finder> | undefined;
  const load = async () => {
    const response = await fetch(INDEX);
    if (!response.ok) {
      throw new Error('the search index could not be loaded');
    }
    const index: readonly Found[] = await response.json();
    return createFinder(index);
  };
  return () => {
    finder ??= load().catch((error: unknown) => {
      finder = undefined;
      throw error;
    });
    return finder;
  };
}

function createSearch(): { readonly open: () => void } {
  const box = makeBox();
  const { dialog, input, results, said } = box;
  const cursor = createCursor(box);
  const load = createLoader();

  const show = async (): Promise<void> => {
    const query = input.value.trim();
    const find = await load().catch(() => undefined);
    if (query !== input.value.trim()) {
      return;
    }
    const hits = query === '' ? [] : (find?.(query) ?? []);
    results.replaceChildren(...hits.map(optionOf));
    results.scrollTop = 0;
    input.setAttribute('aria-expanded', String(hits.length > 0));
    said.textContent =
      find === undefined
        ? 'The search could not be loaded. Type again to try once more.'
        : query !== '' && hits.length === 0
          ? `Nothing found for “${query}”.`
          : '';
    cursor.to(0);
  };

  const onKey = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      cursor.to(cursor.by(step));
    } else if (event.key === 'Escape') {
      // Otherwise the browser would clear the input first, and only the next press would close the dialog.
      event.preventDefault();
      box.dialog.close();
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault();
      cursor.open();
    }
  };
  input.addEventListener('input', show);
  input.addEventListener('keydown', onKey);
  results.addEventListener('pointermove', ({ target }) => {
    const option = (target as Element).closest('a');
    if (option !== null && option.ariaSelected !== 'true') {
      cursor.to([...results.children].indexOf(option));
    }
  });
  // A result can be on the current page.
  results.addEventListener('click', () => dialog.close());

  return {
    open: () => {
      document.querySelector<HTMLElement>(':popover-open')?.hidePopover();
      if (!dialog.open) {
        dialog.showModal();
      }
      input.select();
      void load().catch(() => undefined);
    },
  };
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  );
}

/** Opens the search by its buttons, by `/`, and by Ctrl-K or Cmd-K. */
export function addSearch(): void {
  let search: ReturnType<typeof createSearch> | undefined;
  const open = (): void => {
    search ??= createSearch();
    search.open();
  };
  for (const button of document.querySelectorAll('.search-open')) {
    button.addEventListener('click', open);
  }
  addEventListener('keydown', (event) => {
    const isChord = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey;
    const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !isTyping(event.target);
    if (isChord || isSlash) {
      event.preventDefault();
      open();
    }
  });
}
