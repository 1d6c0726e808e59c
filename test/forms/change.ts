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
