import { type FormPlan, planForm } from '../base/options.ts';
import { newKey } from '../fields/random.ts';
import { checkEvent, FIELD_EVENTS } from '../frame/events.ts';
import { type FrameHandle, mountFrame } from '../frame/handle.ts';
import { createSending, type ElementsFailure, type ElementsReply, type Sending } from './sending.ts';
import { type ElementTheme, wrongIn } from './theme.ts';
import { ELEMENT_FIELDS, type ElementField } from './visit.ts';

export type { ElementsFailure, ElementsReply } from './sending.ts';

/** Options of a group of fields. */
export interface ElementsOptions {
  /** The endpoint, as its creation returned it: `/v1/capture/shop`, or the same as a whole URL. */
  readonly url: string;
  /** Its secret. */
  readonly secret: string;
  /** The reference to store under. */
  readonly reference?: string | undefined;
  /** Texts that are stored with the item, to find it by; no card numbers. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly locale?: string | undefined;
  /** The style of the fields; see the guide for what is allowed. */
  readonly theme?: ElementTheme | undefined;
  /** The base URL of the service. By default that of this script, otherwise that of `url`. */
  readonly baseUrl?: string | undefined;
}

/** A value of a stored item to show. */
export interface RevealOptions extends Omit<ElementsOptions, 'metadata'> {
  readonly token: string;
  /** The member of the item, by default `card_number`. */
  readonly field?: string | undefined;
  /** True if the value is read sealed, so that nothing between the frame and the vault can read it; needs https. */
  readonly seal?: boolean | undefined;
}

/** Options of a single field. */
export interface FieldOptions {
  /** Of `card-number`: offers the networks of a card that has two, and stores the choice as `network`. */
  readonly networks?: boolean | undefined;
}

/** A change of a field. */
export interface FieldChange {
  readonly field: ElementField;
  readonly state: 'empty' | 'partial' | 'complete' | 'invalid';
  /** The network of a card number, such as `visa`; empty when it is not known. */
  readonly brand: string;
  /**
   * The error, such as `number_bad`, of an invalid field; after a check (`validate`, `submit`, or the focus has left it) also of an
   * empty or incomplete one. Otherwise empty.
   */
  readonly error: string;
  /** The same in the language of the group, as the field announces it to screen readers. */
  readonly message: string;
  /** The networks that are offered for a card number; empty unless there are several. */
  readonly networks: readonly string[];
}

/** The events of a group. */
export interface ElementsEvents {
  /** A field can be used. */
  readonly ready: { readonly field: ElementField };
  readonly change: FieldChange;
  readonly focus: { readonly field: ElementField };
  readonly blur: { readonly field: ElementField };
  /** All fields were stored, through `submit` or the Enter key. */
  readonly submit: ElementsReply;
  readonly error: ElementsFailure & { readonly field: ElementField };
}

/** A field in the page. */
export interface ElementHandle {
  readonly iframe: HTMLIFrameElement;
  focus(): void;
  clear(): void;
  /** Shows the error of the field, and reports it by a `change`, also if nothing has changed. */
  validate(): void;
  destroy(): void;
}

/** A group of fields. */
export interface Elements {
  /** Puts a field into an element, or into the first that a selector finds. */
  mount(element: Element | string, field: ElementField, options?: FieldOptions): ElementHandle;
  /** Stores the values of all fields, once all are ready. Rejects with `{ status, code }`. */
  submit(): Promise<ElementsReply>;
  /** Calls the listener at every such event, until the function that is returned is called. */
  on<Name extends keyof ElementsEvents>(
    event: Name,
    listener: (detail: ElementsEvents[Name]) => void,
  ): () => void;
  /** Takes all fields out of the page; a `submit` that waits for its reply rejects with `elements_destroyed`. */
  destroy(): void;
}

const EVENTS = ['ready', 'change', 'focus', 'blur', 'submit', 'error'];
const FRAME_EVENTS = ['ready', 'height', 'success', 'error', 'enter', ...FIELD_EVENTS];

/** The frame of an element. Checks the options as those of a form are, and throws a TypeError for a wrong one. */
function planElement(
  { metadata, theme = {}, ...endpoint }: ElementsOptions & { readonly token?: string },
  base: string | undefined,
  more: Readonly<Record<string, string>>,
): FormPlan {
  const wrong = wrongIn(theme);
  if (wrong !== undefined) {
    throw new TypeError(
      `The member "${wrong}" of the option "theme" is not allowed, or has a value that is not.`,
    );
  }
  const plan = planForm({ ...endpoint, formsHost: true, label: more['label'] }, base);
  const url = new URL(plan.src);
  url.pathname = '/forms/element';
  // The page removes the query from its address, so that loading the address again is not a mere change of the fragment.
  url.search = 'field';
  const fragment = new URLSearchParams(url.hash.slice(1));
  const entries = {
    ...more,
    ...(metadata && { metadata: JSON.stringify(metadata) }),
    theme: JSON.stringify(theme),
  };
  for (const [name, value] of Object.entries(entries)) {
    fragment.set(name, value);
  }
  url.hash = fragment.toString();
  return { ...plan, src: url.href, isKept: true };
}

type Report = <Name extends keyof ElementsEvents>(event: Name, detail: ElementsEvents[Name]) => void;

function watch(frame: FrameHandle, field: ElementField, sending: Sending, report: Report): void {
  frame.on('ready', () => {
    sending.restart(frame);
    report('ready', { field });
  });
  frame.on('change', ({ networks = '', ...change }) => {
    const offered = networks.split(' ').filter((network) => network !== '');
    report('change', { field, ...change, networks: offered } as FieldChange);
  });
  frame.on('focus', () => report('focus', { field }));
  frame.on('blur', () => report('blur', { field }));
  // Before the report, so that a listener can send again.
  frame.on('success', (reply) => {
    sending.hear(frame, reply);
    report('submit', reply);
  });
  frame.on('error', ({ status, code: given }) => {
    const code = given === 'form_unavailable' ? 'elements_unavailable' : given;
    sending.hear(frame, { status, code });
    report('error', { field, status, code });
  });
  // Events report the outcome.
  frame.on('enter', () => void sending.submit(frame).catch(() => undefined));
}

/** Lets the frame of an element fill its container. */
function fill({ iframe }: FrameHandle): void {
  Object.assign(iframe.style, { height: '100%', minHeight: '1.5em' });
}

type ElementOf = (element: Element | string) => Element;

/** Makes a group of fields. Throws a TypeError for wrong options. */
export function createElements(
  options: ElementsOptions,
  base: string | undefined,
  elementOf: ElementOf,
): Elements {
  // An unguessable, unique name.
  const group = newKey();
  // Wrong options fail before any field is there.
  planElement(options, base, { group });
  const frames = new Map<FrameHandle, ElementField>();
  const events = new EventTarget();
  const report: Report = (name, detail) => events.dispatchEvent(new CustomEvent(name, { detail }));
  const on: Elements['on'] = (name, listener) => {
    checkEvent(name, EVENTS);
    const forward = (event: Event): void => listener((event as CustomEvent).detail);
    events.addEventListener(name, forward);
    return () => events.removeEventListener(name, forward);
  };
  const sending = createSending(frames, (field, failure) => report('error', { field, ...failure }));
  return {
    on,
    mount: (element, field, { networks = false } = {}) => {
      if (!ELEMENT_FIELDS.includes(field)) {
        throw new TypeError(`There is no field "${field}". There are: ${ELEMENT_FIELDS.join(', ')}.`);
      }
      const container = elementOf(element);
      if ('mode' in container.getRootNode()) {
        throw new TypeError(
          'A field cannot be in a shadow root, where the others of its group do not find it.',
        );
      }
      const plan = planElement(options, base, {
        ...{ group, field, label: field.replace('-', ' ') },
        ...(networks && { networks: 'true' }),
      });
      const frame = mountFrame(container, plan, FRAME_EVENTS);
      frames.set(frame, field);
      fill(frame);
      watch(frame, field, sending, report);
      const destroy = (): void => {
        frames.delete(frame);
        frame.destroy();
        sending.step();
      };
      return {
        iframe: frame.iframe,
        focus: () => frame.ask({ type: 'vault.focus' }),
        clear: frame.reset,
        validate: () => frame.ask({ type: 'vault.validate' }),
        destroy,
      };
    },
    submit: () => sending.submit(),
    destroy: () => {
      sending.stop('elements_destroyed');
      for (const frame of frames.keys()) {
        frame.destroy();
      }
      frames.clear();
    },
  };
}

/** Shows one value of a stored item, with buttons to show and to copy it. The page around never gets it. */
export function createReveal(
  { field = 'card_number', seal = false, ...options }: RevealOptions,
  base: string | undefined,
  container: Element,
): FrameHandle {
  const more = {
    ...{ group: newKey(), field: 'reveal', shows: field, label: field.replaceAll('_', ' ') },
    ...(seal && { seal: 'true' }),
  };
  const frame = mountFrame(container, planElement(options, base, more), FRAME_EVENTS);
  fill(frame);
  return frame;
}
