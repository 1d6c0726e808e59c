/** Elements in markup: `<vault-card-number>` and its like, which are a group if they have the same `url`. */
import type { FrameHandle } from '../frame/handle.ts';
import type { ElementHandle, Elements, ElementsOptions, ElementsReply, RevealOptions } from './host.ts';
import { ELEMENT_FIELDS, type ElementField } from './names.ts';
import { type ElementTheme, themeIn } from './theme.ts';

/** A field in markup. Its events are `vault-ready`, `vault-change`, `vault-focus`, `vault-blur`, `vault-submit`, `vault-error`. */
export interface VaultFieldElement extends HTMLElement {
  focus(): void;
  /** Empties the field. */
  clear(): void;
  /** Shows in the field what is wrong with it. */
  validate(): void;
  /** Stores what all fields with the same `url` hold. */
  submit(): Promise<ElementsReply>;
}

/** What makes the frames. */
interface Makers {
  readonly elements: (options: ElementsOptions) => Elements;
  readonly reveal: (options: RevealOptions, container: Element) => FrameHandle;
}

/** Where a page is made on a server there are no elements. */
const Base: typeof HTMLElement = globalThis.HTMLElement ?? class {};

interface Group {
  readonly elements: Elements;
  count: number;
}

/** Groups by the URL of their endpoint, and fields whose group has no secret yet. */
const groups = new Map<string, Group>();
const waiting = new Map<string, Set<() => void>>();

function text(element: Element, name: string): string | undefined {
  return element.getAttribute(name) || undefined;
}

/** The options in the attributes of an element; the secret is removed from it. */
function optionsOf(element: Element): ElementsOptions | undefined {
  const url = text(element, 'url');
  const secret = text(element, 'secret');
  element.removeAttribute('secret');
  const metadata = [...new URLSearchParams(text(element, 'metadata') ?? '')];
  return url === undefined || secret === undefined
    ? undefined
    : {
        ...{ url, secret, reference: text(element, 'reference'), locale: text(element, 'locale') },
        ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
        theme: themeIn(text(element, 'theme')) as ElementTheme, // It is checked where it is used.
        baseUrl: text(element, 'base-url'),
      };
}

/** The group of a field: that of its URL, which the field makes if it has the secret; later otherwise. */
function joinGroup(element: Element, { elements }: Makers, join: (group: Group) => void): void {
  const url = text(element, 'url') ?? '';
  const options = optionsOf(element);
  const found = groups.get(url) ?? (options && { elements: elements(options), count: 0 });
  if (found === undefined) {
    const others = waiting.get(url) ?? new Set();
    waiting.set(
      url,
      others.add(() => join(groups.get(url) as Group)),
    ); // Called once the group is there.
    return;
  }
  groups.set(url, found);
  join(found);
  const others = waiting.get(url) ?? [];
  waiting.delete(url);
  for (const other of others) {
    other();
  }
}

function fieldClass(field: ElementField, makers: Makers): new () => VaultFieldElement {
  return class extends Base implements VaultFieldElement {
    #handle: ElementHandle | undefined;
    #group: Group | undefined;
    #ends: (() => void)[] = [];

    connectedCallback(): void {
      // Attributes that are set one after another are all there by then.
      queueMicrotask(() => {
        if (this.isConnected && this.#group === undefined) {
          joinGroup(this, makers, (group) => this.#join(group));
        }
      });
    }

    disconnectedCallback(): void {
      this.#handle?.destroy();
      for (const end of this.#ends) {
        end();
      }
      const group = this.#group;
      if (group !== undefined) {
        group.count -= 1;
        if (group.count === 0) {
          groups.delete(text(this, 'url') ?? '');
        }
      }
      this.#group = undefined;
      this.#handle = undefined;
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
      return this.#group?.elements.submit() ?? Promise.reject({ status: 0, code: 'not_connected' });
    }

    #join(group: Group): void {
      if (!this.isConnected) {
        return;
      }
      group.count += 1;
      this.#group = group;
      this.style.display ||= 'block';
      this.#handle = group.elements.mount(this, field);
      const tell = (name: string, detail: unknown): void => {
        this.dispatchEvent(new CustomEvent(`vault-${name}`, { detail }));
      };
      const { elements } = group;
      this.#ends = [
        ...(['ready', 'change', 'focus', 'blur', 'error'] as const).map((name) =>
          elements.on(name, (detail) => detail.field === field && tell(name, detail)),
        ),
        elements.on('submit', (reply) => tell('submit', reply)),
      ];
    }
  };
}

function revealClass({ reveal }: Makers): new () => HTMLElement {
  return class extends Base {
    #frame: FrameHandle | undefined;

    connectedCallback(): void {
      queueMicrotask(() => {
        const options = optionsOf(this);
        const token = text(this, 'token');
        if (this.isConnected && options !== undefined && token !== undefined) {
          this.style.display ||= 'block';
          this.#frame = reveal({ ...options, token, field: text(this, 'field') }, this);
          this.#frame.on('ready', (detail) => this.dispatchEvent(new CustomEvent('vault-ready', { detail })));
          this.#frame.on('error', (detail) => this.dispatchEvent(new CustomEvent('vault-error', { detail })));
        }
      });
    }

    disconnectedCallback(): void {
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
