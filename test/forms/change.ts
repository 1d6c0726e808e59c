import { expect } from 'bun:test';
import fc from 'fast-check';
import type { Edit } from '../../forms/fields/digits.ts';

/** A change of a field as texts with the caret as `|`: the text before, as the browser changed it, and as it is shown. */
export function changeIn(edit: Edit): (before: string, replaced: string, kind: string) => string {
  return (before, replaced, kind) => {
    const { value, caret } = edit({
      before: before.replace('|', ''),
      value: replaced.replace('|', ''),
      caret: replaced.indexOf('|'),
      kind,
    });
    return `${value.slice(0, caret)}|${value.slice(caret)}`;
  };
}

/** Makes any change of a field: its caret stays in the text, and `check` gets the text as it was changed and as it is shown. */
export function checkAnyChange(edit: Edit, check: (value: string, shown: string) => void): void {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.nat(40),
      fc.constantFrom('insertText', 'deleteContentBackward', ''),
      (before, value, at, kind) => {
        const shown = edit({ before, value, caret: Math.min(at, value.length), kind });
        check(value, shown.value);
        expect(shown.caret).toBeGreaterThanOrEqual(0);
        expect(shown.caret).toBeLessThanOrEqual(shown.value.length);
      },
    ),
  );
}
