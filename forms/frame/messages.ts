/**
 * The messages between a form page and the page around it, for both sides. No message contains a field's value. The
 * guards accept a message only with the members of its type, as own and plain values.
 */

/** A message of the form page. `height` is in CSS pixels; `status` is 0 without a reply. */
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
      /** Of a single field: its state, and the network of a card number; never the number of characters. */
      readonly type: 'vault.change';
      readonly state: string;
      readonly brand: string;
      readonly error: string;
      /** The text of the error in the language of the field. */
      readonly message: string;
      /** The networks that are offered, with spaces between; only of a field that offers some. */
      readonly networks?: string;
    }
  | { readonly type: 'vault.focus' }
  | { readonly type: 'vault.blur' }
  /** Only single fields: Enter was pressed. */
  | { readonly type: 'vault.enter' };

/** A message of the page around. `vault.hello` shows its origin. */
export type ParentMessage =
  | { readonly type: 'vault.hello' }
  | { readonly type: 'vault.submit' }
  | { readonly type: 'vault.reset' }
  /** Only single fields: take the focus, show the error, and send the group if it has exactly these fields. */
  | { readonly type: 'vault.focus' }
  | { readonly type: 'vault.validate' }
  | { readonly type: 'vault.send'; readonly fields: string };

/** The type of each member; one with `?` may be left out. */
type Shape = Readonly<Record<string, 'string' | 'number' | 'string?'>>;

const FRAME_SHAPES: Readonly<Record<FormMessage['type'], Shape>> = {
  'vault.ready': {},
  'vault.height': { height: 'number' },
  'vault.success': { token: 'string', reference: 'string', user: 'string' },
  'vault.error': { status: 'number', code: 'string' },
  'vault.change': {
    state: 'string',
    brand: 'string',
    error: 'string',
    message: 'string',
    networks: 'string?',
  },
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
    Object.keys(shape).every((name) => shape[name] === 'string?' || names.includes(name)) &&
    names.every(
      (name) =>
        typeof name === 'string' &&
        Object.hasOwn(shape, name) &&
        typeof value[name] === shape[name]?.replace('?', '') &&
        (shape[name] !== 'number' || Number.isFinite(value[name])),
    )
  );
}

/** True for a valid message of a form page. The caller checks its sender. */
export function isFrameMessage(data: unknown): data is FormMessage {
  return fits(data, FRAME_SHAPES);
}

/** True for a valid message to a form page. The caller checks its sender. */
export function isParentMessage(data: unknown): data is ParentMessage {
  return fits(data, PARENT_SHAPES);
}
