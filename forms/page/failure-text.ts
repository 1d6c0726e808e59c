/** The error text for people, by the code of a failure or otherwise by its status. */
import type { Texts } from '../messages/en.ts';
import type { CallFailure } from './submit.ts';

/** The failure of a form without an endpoint. */
export const UNCONNECTED: CallFailure = {
  status: 0,
  code: 'not_connected',
  error: 'The form has no endpoint, secret or token.',
};

/** Texts by error code. */
const BY_CODE: Readonly<Record<string, keyof Texts>> = {
  network: 'e_network',
  not_connected: 'e_unconnected',
  test_card: 'e_test',
  endpoint_gone: 'e_gone',
  endpoint_refused: 'e_refused',
  endpoint_used_up: 'e_used',
  origin_not_allowed: 'e_refused',
  endpoint_out_of_scope: 'e_refused',
  sealing_required: 'e_refused',
  reference_required: 'e_missing',
  token_not_found: 'e_missing',
  overloaded: 'e_busy',
  store_unavailable: 'e_busy',
};

/** Texts by status, for other codes. */
const BY_STATUS: Readonly<Record<number, keyof Texts>> = {
  0: 'e_network',
  400: 'e_invalid',
  401: 'e_refused',
  403: 'e_refused',
  404: 'e_refused',
  409: 'e_busy',
  410: 'e_gone',
  413: 'e_invalid',
  422: 'e_invalid',
  429: 'e_limit',
  503: 'e_busy',
};

/** Errors after which a retry may succeed. */
const PASSING: readonly (keyof Texts)[] = ['e_network', 'e_limit', 'e_busy', 'e_server'];

/** The name of the text for a failure. */
export function failureText({ status, code }: CallFailure): keyof Texts {
  return (Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined) ?? BY_STATUS[status] ?? 'e_server';
}

/** True if a retry with the same values is offered. */
export function mayPass(failure: CallFailure): boolean {
  return PASSING.includes(failureText(failure));
}
