/** Elements in markup: `<vault-card-number>` and its like, which are a group if they have the same `url`. */
import type { FrameHandle } from '../frame/handle.ts';
import type { ElementHandle, Elements, ElementsOptions, ElementsReply, RevealOptions } from './host.ts';
import { type ElementTheme, themeIn } from './theme.ts';
import { ELEMENT_FIELDS, type ElementField } from './visit.ts';

/** A field in markup. Its events are `vault-ready`, `vault-change`, `vault-focus`, `vault-blur`, `vault-submit`, `vault-error`. */
export interface VaultFieldElement extends HTMLElement {
  focus(): void;
  /** Empties the field. */
  clear(): void;
  /** Shows the error of the field. */
  validate(): void;
  /** Stores the values of all fields with the same `url`. */
  submit(): Promise<ElementsReply>;
}

interface Makers {
  readonly elements: (options: ElementsOptions) => Elements;
  readonly reveal: (options: RevealOptions, container: Element) => FrameHandle;
}

/** Servers that render pages have no elements. */
const Base: typeof HTMLElement = globalThis.HTMLElement ?? class {};

/** The fields of the page with one URL. They are a group once one of them has the secret. */
interface Place {
  elements: Elements | undefined;
  /** The options of the group. */
  options: string;
  readonly joins: Set<(elements: Elements) => void>;
}

/** By URL. */
const places = new Map<string, Place>();

function text(element: Element, name: string): string | undefined {
  return element.getAttribute(name) || undefined;
}

/** The options in the attributes of an element that has URL and secret; the secret is removed from it. */
function optionsOf(element: Element): ElementsOptions | undefined {
  const url = text(element, 'url');
  const secret = text(element, 'secret');
  if (url === undefined || secret === undefined) {
    return undefined;
  }
  element.removeAttribute('secret');
  const metadata = [...new URLSearchParams(text(element, 'metadata') ?? '')];
  return {
    ...{ url, secret, reference: text(element, 'reference'), locale: text(element, 'locale') },
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
    theme: themeIn(text(element, 'theme')) as ElementTheme, // It is checked where it is used.
    baseUrl: text(element, 'base-url'),
  };
}

/**
 * Puts a field into a place. A field with a secret makes the group; fields that are already there, or belong to another
 * group with the same URL, join it.
 */
function enter(
  place: Place,
  options: ElementsOptions | undefined,
  makers: Makers,
  join: (elements: Elements) => void,
): void {
  const isNew = !place.joins.has(join);
  place.joins.add(join);
  const given = JSON.stringify(options);
  if (options === undefined || given === place.options) {
    if (isNew && place.elements !== undefined) {
      join(place.elements);
    }
    return;
  }
  const made = makers.elements(options);
  place.elements?.destroy();
  Object.assign(place, { elements: made, options: given });
  for (const each of place.joins) {
    each(made);
  }
}

/**
 * An element that a page may move. Frameworks remove elements and insert them again, so it checks for its place after the
 * script that moved it. With `moveBefore` its frame stays.
 */
abstract class MovableElement extends Base {
  static observedAttributes = ['url', 'secret', 'token'];

  abstract enter(): void;
  abstract leave(): void;

  connectedCallback(): void {
    this.#settle();
  }

  disconnectedCallback(): void {
    this.#settle();
  }

  attributeChangedCallback(_: string, before: string | null, now: string | null): void {
    if (now !== null && now !== before) {
      this.#settle();
    }
  }

  connectedMoveCallback(): void {
    // If it exists, the browser does not call the other two.
  }

  adoptedCallback(): void {
    // The frame listens in the window that it was made for.
    this.leave();
  }

  #settle(): void {
    // After all attributes that a script sets.
    queueMicrotask(() => (this.isConnected ? this.enter() : this.leave()));
  }
}

/** Dispatches reports of a field and of its group as events of its element. */
function relay(elements: Elements, field: ElementField, element: Element): (() => void)[] {
  const report = (name: string, detail: unknown): void => {
    element.dispatchEvent(new CustomEvent(`vault-${name}`, { detail }));
  };
  return [
    ...(['ready', 'change', 'focus', 'blur', 'error'] as const).map((name) =>
      elements.on(name, (detail) => detail.field === field && report(name, detail)),
    ),
    elements.on('submit', (reply) => report('submit', reply)),
  ];
}

function fieldClass(field: ElementField, makers: Makers): new () => VaultFieldElement {
  return class extends MovableElement implements VaultFieldElement {
    #handle: ElementHandle | undefined;
    /** Kept while the element is outside the page, so that the last field of a group still has the secret. */
    #place: Place | undefined;
    #url = '';
    #ends: (() => void)[] = [];
    readonly #join = (elements: Elements): void => this.#mount(elements);

    enter(): void {
      const url = text(this, 'url') ?? '';
      if (url !== this.#url) {
        this.leave();
        this.#place = undefined;
      }
      const place = places.get(url) ??
        this.#place ?? { ...{ elements: undefined, options: '', joins: new Set() } };
      places.set(url, place);
      this.#place = place;
      this.#url = url;
      enter(place, optionsOf(this), makers, this.#join);
    }

    leave(): void {
      this.#unmount();
      this.#place?.joins.delete(this.#join);
      if (this.#place?.joins.size === 0 && places.get(this.#url) === this.#place) {
        places.delete(this.#url);
      }
    }

    override focus(): void {
      this.#handle?.focus();
    }

    clear(): void {
      this.#handle?.clear();
    }

    validate(): void {
      this.#handle?.validate();
    }

    submit(): Promise<ElementsReply> {
      return this.#place?.elements?.submit() ?? Promise.reject({ status: 0, code: 'elements_missing' });
    }

    #unmount(): void {
      this.#handle?.destroy();
      this.#handle = undefined;
      for (const end of this.#ends) {
        end();
      }
      this.#ends = [];
    }

    #mount(elements: Elements): void {
      this.#unmount();
      this.style.display ||= 'block';
      this.#handle = elements.mount(this, field);
      this.#ends = relay(elements, field, this);
    }
  };
}

function revealClass({ reveal }: Makers): new () => HTMLElement {
  return class extends MovableElement {
    #frame: FrameHandle | undefined;
    /** Kept while the element is outside the page. */
    #options: ElementsOptions | undefined;
    #shown = '';

    enter(): void {
      this.#options = optionsOf(this) ?? this.#options;
      const token = text(this, 'token');
      const shown = JSON.stringify([this.#options, token]);
      if (shown !== this.#shown) {
        this.leave();
      }
      if (this.#frame === undefined && this.#options !== undefined && token !== undefined) {
        this.#shown = shown;
        this.style.display ||= 'block';
        this.#frame = reveal({ ...this.#options, token, field: text(this, 'field') }, this);
        this.#frame.on('ready', (detail) => this.dispatchEvent(new CustomEvent('vault-ready', { detail })));
        this.#frame.on('error', (detail) => this.dispatchEvent(new CustomEvent('vault-error', { detail })));
      }
    }

    leave(): void {
      this.#frame?.destroy();
      this.#frame = undefined;
    }
  };
}

/** Defines all elements that nothing has defined. */
export function defineElements(makers: Makers): void {
  const registry = globalThis.customElements;
  const define = (tag: string, made: new () => HTMLElement): void => {
    if (registry !== undefined && registry.get(tag) === undefined) {
      registry.define(tag, made);
    }
  };
  for (const field of ELEMENT_FIELDS) {
    define(`vault-${field}`, fieldClass(field, makers));
  }
  define('vault-reveal', revealClass(makers));
}

declare global {
  interface HTMLElementTagNameMap {
    'vault-card-number': VaultFieldElement;
    'vault-card-expiry': VaultFieldElement;
    'vault-card-cvc': VaultFieldElement;
    'vault-card-holder': VaultFieldElement;
    'vault-iban': VaultFieldElement;
  }
}
