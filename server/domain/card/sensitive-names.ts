import { NUMBER_NAMES } from './number.ts';

/** Members that contain a card or account number: masked but for the last four characters. */
export const MASKED_NUMBER_NAMES: ReadonlySet<string> = new Set([...NUMBER_NAMES, 'pan']);

/**
 * Members that contain sensitive authentication data (PCI DSS, requirement 3.3.1): masked whole, and stored in a
 * part of their own that can expire.
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

/** Whether a member contains a card or account number; upper and lower case count as the same. */
export function isMaskedNumberName(name: string): boolean {
  return MASKED_NUMBER_NAMES.has(name.toLowerCase());
}

/** Whether a member contains sensitive authentication data; upper and lower case count as the same. */
export function isSadName(name: string): boolean {
  return SAD_NAMES.has(name.toLowerCase());
}
