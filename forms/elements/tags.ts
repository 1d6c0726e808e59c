/** Elements in markup: `<vault-card-number>` and its like, which are a group if they have the same `url`. */
import { type Adviser, createAdviser } from '../frame/advice.ts';
import type { AttributeState } from '../frame/attributes.ts';
import type { FrameHandle } from '../frame/handle.ts';
import type { ElementHandle, Elements, ElementsOptions, ElementsReply, RevealOptions } from './host.ts';
import { type ElementTheme, parseTheme } from './theme.ts';
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

/** Attributes for the options of a whole group, which the element with the secret gives. */
const GROUP_ATTRIBUTES: readonly string[] = ['reference', 'metadata', 'locale', 'theme', 'base-url'];
const NETWORKS = 'networks';
const FIELD_ATTRIBUTES: readonly string[] = ['url', 'secret', ...GROUP_ATTRIBUTES];
const REVEAL_ATTRIBUTES: readonly string[] = [
  ...['url', 'secret', 'token', 'reference', 'field', 'seal', 'locale', 'theme', 'base-url'],
];

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

type CommonOptions = Omit<ElementsOptions, 'metadata'>;

/** The options in the attributes of an element that has a URL and has had a secret. Throws a TypeError for a wrong theme. */
function optionsOf(element: Element, secret: string | undefined): CommonOptions | undefined {
  const url = text(element, 'url');
  if (url === undefined || secret === undefined) {
    return undefined;
  }
  const theme = text(element, 'theme');
  return {
    ...{ url, secret, reference: text(element, 'reference'), locale: text(element, 'locale') },
    // Its members are checked where it is used.
    theme: theme === undefined ? {} : (parseTheme(theme) as ElementTheme),
    baseUrl: text(element, 'base-url'),
  };
}

/** The same with the metadata of a group. */
function groupOptionsOf(element: Element, secret: string | undefined): ElementsOptions | undefined {
  const metadata = [...new URLSearchParams(text(element, 'metadata') ?? '')];
  const options = optionsOf(element, secret);
  return options && { ...options, ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }) };
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
  /** Taken from its attribute, where other scripts could read it. */
  #secret: string | undefined;
  /** The URL that the secret belongs to, once there is one. */
  #secretUrl: string | undefined;
  readonly #adviser: Adviser = createAdviser(this, () => this.attributeState(this.#secret !== undefined));

  /** Called in the page, and again after attributes have changed. `isNew` is true if the secret has come only now. */
  abstract enter(secret: string | undefined, isNew: boolean): void;
  abstract leave(): void;
  abstract attributeState(hasSecret: boolean): Omit<AttributeState, 'names'>;

  connectedCallback(): void {
    this.#adviser.start();
    this.#settle();
  }

  disconnectedCallback(): void {
    this.#adviser.stop();
    this.#settle();
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (now !== before && !(name === 'secret' && now === null)) {
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
    queueMicrotask(() => {
      if (this.isConnected) {
        const isNew = this.#takeSecret();
        this.enter(this.#secret, isNew);
      } else {
        this.leave();
      }
    });
  }

  /** Takes a secret from its attribute, and forgets that of another URL. Returns whether there is a new one. */
  #takeSecret(): boolean {
    const url = text(this, 'url');
    const secret = text(this, 'secret');
    if (secret !== undefined) {
      this.#secret = secret;
      this.removeAttribute('secret');
    } else if (this.#secretUrl !== undefined && url !== this.#secretUrl) {
      this.#secret = undefined;
    }
    this.#secretUrl = this.#secret === undefined ? undefined : url;
    return secret !== undefined;
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

/** True for an attribute that is there, unless it says `false`. */
function isOn(element: Element, name: string): boolean {
  return ![null, 'false'].includes(element.getAttribute(name));
}

function fieldClass(field: ElementField, makers: Makers): new () => VaultFieldElement {
  const known = field === 'card-number' ? [...FIELD_ATTRIBUTES, NETWORKS] : FIELD_ATTRIBUTES;
  return class extends MovableElement implements VaultFieldElement {
    static observedAttributes = known;
    #handle: ElementHandle | undefined;
    /** Kept while the element is outside the page, so that the last field of a group still has its options. */
    #place: Place | undefined;
    #url = '';
    /** The options that this element has given to its group. */
    #given = '';
    #ends: (() => void)[] = [];
    #hasNetworks = false;
    readonly #join = (elements: Elements): void => this.#mount(elements);

    enter(secret: string | undefined, isNew: boolean): void {
      const url = text(this, 'url') ?? '';
      const hasNetworks = isOn(this, NETWORKS);
      if (url !== this.#url) {
        this.leave();
        this.#place = undefined;
        this.#given = '';
      } else if (hasNetworks !== this.#hasNetworks) {
        // It joins its group again, with another frame.
        this.leave();
      }
      this.#hasNetworks = hasNetworks;
      const place = places.get(url) ??
        this.#place ?? { ...{ elements: undefined, options: '', joins: new Set() } };
      places.set(url, place);
      this.#place = place;
      this.#url = url;
      const options = groupOptionsOf(this, secret);
      const given = JSON.stringify(options) ?? '';
      // Without a new secret only the element that has given the options changes them.
      const mayGive = isNew || place.elements === undefined || place.options === this.#given;
      enter(place, mayGive ? options : undefined, makers, this.#join);
      this.#given = given === place.options ? given : this.#given;
    }

    attributeState(hasSecret: boolean): Omit<AttributeState, 'names'> {
      const { elements, options, joins } = this.#place ?? {};
      // One warning is enough for a group.
      const isFirst = [...(joins ?? [])][0] === this.#join;
      const isUsed = elements === undefined || options === this.#given;
      return {
        known,
        missing: [
          ...(this.#url === '' ? ['url'] : []),
          ...(elements === undefined && isFirst && !hasSecret ? ['secret'] : []),
        ],
        unused: isUsed ? [] : GROUP_ATTRIBUTES.filter((name) => this.hasAttribute(name)),
      };
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
      this.#handle = elements.mount(this, field, { networks: this.#hasNetworks });
      this.#ends = relay(elements, field, this);
    }
  };
}

function revealClass({ reveal }: Makers): new () => HTMLElement {
  return class extends MovableElement {
    static observedAttributes = REVEAL_ATTRIBUTES;
    #frame: FrameHandle | undefined;
    #shown = '';

    enter(secret: string | undefined): void {
      const options = optionsOf(this, secret);
      const [token, field, seal] = [text(this, 'token'), text(this, 'field'), isOn(this, 'seal')];
      const shown = JSON.stringify([options, token, field, seal]);
      if (shown !== this.#shown) {
        this.leave();
      }
      this.#shown = shown;
      if (this.#frame === undefined && options !== undefined && token !== undefined) {
        this.style.display ||= 'block';
        this.#frame = reveal({ ...options, token, field, seal }, this);
        this.#frame.on('ready', (detail) => this.dispatchEvent(new CustomEvent('vault-ready', { detail })));
        this.#frame.on('error', (detail) => this.dispatchEvent(new CustomEvent('vault-error', { detail })));
      }
    }

    attributeState(hasSecret: boolean): Omit<AttributeState, 'names'> {
      const lacking = ['url', 'token'].filter((name) => text(this, name) === undefined);
      return { known: REVEAL_ATTRIBUTES, missing: [...lacking, ...(hasSecret ? [] : ['secret'])] };
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
