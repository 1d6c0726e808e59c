/** Messages that forms send, and those that only look like them. */
import type { FormMessage } from '../../forms/frame/messages.ts';

/** One of each kind that a form sends. */
export const TOLD: readonly FormMessage[] = [
  { type: 'vault.ready' },
  { type: 'vault.height', height: 320.5 },
  { type: 'vault.success', token: 'ab12', reference: 'order-1001', user: 'shop' },
  { type: 'vault.error', status: 0, code: 'network' },
];

const success = { type: 'vault.success', token: 't', reference: 'r', user: 'u' };
function inherited(own: object, parent: object): object {
  return Object.assign(Object.create(parent), own);
}

/** Data that no form sends, each with a name. */
export const HOSTILE_DATA: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['true', true],
  ['a number', 7],
  ['a big number', 7n],
  ['an empty text', ''],
  ['the type alone', 'vault.ready'],
  ['JSON text', '{"type":"vault.ready"}'],
  ['an empty object', {}],
  ['an empty list', []],
  ['a list of messages', [{ type: 'vault.ready' }]],
  ['a list with a type', Object.assign([], { type: 'vault.ready' })],
  ['a message in a message', { data: { type: 'vault.ready' } }],
  ['a map', new Map([['type', 'vault.ready']])],
  ['no type', { height: 1 }],
  ['another type', { type: 'vault.navigate' }],
  ['the type in capitals', { type: 'VAULT.READY' }],
  ['the type with a space', { type: 'vault.ready ' }],
  ['the type in a list', { type: ['vault.ready'] }],
  ['the type in an object', { type: { toString: () => 'vault.ready' } }],
  ['a type of every object', { type: 'constructor' }],
  ['the type of the prototype', { type: '__proto__' }],
  ['a type that is a function', { type: 'hasOwnProperty' }],
  ['an inherited type', inherited({}, { type: 'vault.ready' })],
  ['inherited members', inherited({ type: 'vault.success' }, { token: 't', reference: 'r', user: 'u' })],
  [
    'an own prototype member',
    Object.defineProperty({ ...success }, '__proto__', { value: 'x', enumerable: true }),
  ],
  ['one member more', { ...success, card_number: '4111111111111111' }],
  ['a hidden member more', Object.defineProperty({ ...success }, 'more', { value: 1, enumerable: false })],
  ['a symbol more', { ...success, [Symbol('more')]: 1 }],
  ['ready with a member', { type: 'vault.ready', height: 1 }],
  ['a member too few', { type: 'vault.success', token: 't', reference: 'r' }],
  ['a member that is misspelt', { type: 'vault.success', token: 't', refrence: 'r', user: 'u' }],
  ['a token that is a number', { ...success, token: 7 }],
  ['a token that is null', { ...success, token: null }],
  ['a token in a list', { ...success, token: ['t'] }],
  ['a token in an object', { ...success, token: new String('t') }],
  ['a user that is undefined', { ...success, user: undefined }],
  ['a height that is text', { type: 'vault.height', height: '100px' }],
  ['a height that is no number', { type: 'vault.height', height: Number.NaN }],
  ['an endless height', { type: 'vault.height', height: Number.POSITIVE_INFINITY }],
  ['a height without end below', { type: 'vault.height', height: Number.NEGATIVE_INFINITY }],
  ['no height', { type: 'vault.height' }],
  ['a status that is text', { type: 'vault.error', status: '403', code: 'endpoint_refused' }],
  ['an error with its text', { type: 'vault.error', status: 403, code: 'endpoint_refused', error: 'No.' }],
  ['what a page tells a form: hello', { type: 'vault.hello' }],
  ['what a page tells a form: submit', { type: 'vault.submit' }],
  ['what a page tells a form: reset', { type: 'vault.reset' }],
];
