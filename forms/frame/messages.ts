/**
 * What a form page and the page around it say to each other with `postMessage`: one description for both sides.
 * No message ever carries a field's value. The guards take a message only when it has exactly the members of its
 * type, as own and plain values, so that anything a stranger sends falls through.
 */

/** What the form page tells the page around it. `height` is in CSS pixels; `status` is 0 when no reply came. */
export type FormMessage =
  | { readonly type: 'vault.ready' }
  | { readonly type: 'vault.height'; readonly height: number }
  | {
      readonly type: 'vault.success';
      readonly token: string;
      readonly reference: string;
      readonly user: string;
    }
  | { readonly type: 'vault.error'; readonly status: number; readonly code: string }
  | {
      /** Of a single field: how far it is, and the network of a card number. Never how much was typed. */
      readonly type: 'vault.change';
      readonly state: string;
      readonly brand: string;
      readonly error: string;
    }
  | { readonly type: 'vault.focus' }
  | { readonly type: 'vault.blur' }
  /** Only single fields: Enter was pressed. */
  | { readonly type: 'vault.enter' };

/** What the page around may ask of the form page; the hello tells it the origin to answer to. */
export type ParentMessage =
  | { readonly type: 'vault.hello' }
  | { readonly type: 'vault.submit' }
  | { readonly type: 'vault.reset' }
  /** Only single fields: take the focus, show what is wrong, and send the group if it has just these fields. */
  | { readonly type: 'vault.focus' }
  | { readonly type: 'vault.validate' }
  | { readonly type: 'vault.send'; readonly fields: string };

type Shape = Readonly<Record<string, 'string' | 'number'>>;

const FRAME_SHAPES: Readonly<Record<FormMessage['type'], Shape>> = {
  'vault.ready': {},
  'vault.height': { height: 'number' },
  'vault.success': { token: 'string', reference: 'string', user: 'string' },
  'vault.error': { status: 'number', code: 'string' },
  'vault.change': { state: 'string', brand: 'string', error: 'string' },
  'vault.focus': {},
  'vault.blur': {},
  'vault.enter': {},
};

const PARENT_SHAPES: Readonly<Record<ParentMessage['type'], Shape>> = {
  'vault.hello': {},
  'vault.submit': {},
  'vault.reset': {},
  'vault.focus': {},
  'vault.validate': {},
  'vault.send': { fields: 'string' },
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Structured clones have only own members, but the guards also serve objects that a test or a caller made. */
function fits(value: unknown, shapes: Readonly<Record<string, Shape>>): boolean {
  if (!isObject(value) || !Object.hasOwn(value, 'type')) {
    return false;
  }
  const { type } = value;
  if (typeof type !== 'string' || !Object.hasOwn(shapes, type)) {
    return false;
  }
  const shape = shapes[type] ?? {};
  const names = Reflect.ownKeys(value).filter((name) => name !== 'type');
  return (
    names.length === Object.keys(shape).length &&
    names.every(
      (name) =>
        typeof name === 'string' &&
        Object.hasOwn(shape, name) &&
        typeof value[name] === shape[name] &&
        (shape[name] !== 'number' || Number.isFinite(value[name])),
    )
  );
}

/** Whether a message's data is one that form pages send. Who sent it is for the caller to check. */
export function isFrameMessage(data: unknown): data is FormMessage {
  return fits(data, FRAME_SHAPES);
}

/** Whether a message's data is one that form pages act on. Who sent it is for the caller to check. */
export function isParentMessage(data: unknown): data is ParentMessage {
  return fits(data, PARENT_SHAPES);
}
