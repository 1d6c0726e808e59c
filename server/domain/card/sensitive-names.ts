import { NUMBER_NAMES } from './number.ts';

/** Members that contain a card or account number: masked except for the last four characters. */
export const MASKED_NUMBER_NAMES: ReadonlySet<string> = new Set([...NUMBER_NAMES, 'pan']);

/**
 * Members that contain sensitive authentication data (PCI DSS 3.3.1): masked completely, and stored in a separate
 * part that can expire.
 */
export const SAD_NAMES: ReadonlySet<string> = new Set([
  'cvv',
  'cvc',
  'cvv2',
  'cvc2',
  'cvn',
  'cid',
  'security_code',
  'card_cvv',
  'pin',
  'pin_block',
  'track1',
  'track2',
]);

/** Whether a member contains a card or account number; case-insensitive. */
export function isMaskedNumberName(name: string): boolean {
  return MASKED_NUMBER_NAMES.has(name.toLowerCase());
}

/** Whether a member contains sensitive authentication data; case-insensitive. */
export function isSadName(name: string): boolean {
  return SAD_NAMES.has(name.toLowerCase());
}
