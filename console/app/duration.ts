/** Durations as people write them, such as `2 days` or `1 hour 30 minutes`. */

/** Names of units, each with its seconds; a month and a year are as long as in the API. */
const UNITS: readonly (readonly [names: RegExp, seconds: number])[] = [
  [/^s(?:ec(?:ond)?s?)?$/, 1],
  [/^m(?:in(?:ute)?s?)?$/, 60],
  [/^h(?:(?:ou)?rs?)?$/, 3_600],
  [/^d(?:ays?)?$/, 86_400],
  [/^w(?:(?:ee)?ks?)?$/, 604_800],
  [/^mo(?:nths?)?$/, 2_592_000],
  [/^y(?:(?:ea)?rs?)?$/, 31_536_000],
];
const PART = /^\s*(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]+)/;

/** Returns a duration in the form of the API. Any other text is returned unchanged: the API takes it or names its error. */
export function durationOf(text: string): string {
  let rest = text.toLowerCase().replace(/,|\band\b/g, ' ');
  let seconds = 0;
  while (rest.trim() !== '') {
    const [part = '', count, name = ''] = PART.exec(rest) ?? [];
    const unit = UNITS.find(([names]) => names.test(name))?.[1];
    if (unit === undefined) {
      return text.trim();
    }
    seconds += Number(count) * unit;
    rest = rest.slice(part.length);
  }
  return seconds === 0 ? text.trim() : `${Math.round(seconds)}s`;
}
