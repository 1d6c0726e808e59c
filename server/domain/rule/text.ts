import { stringifyJson } from '../json/json.ts';
import { countSteps, parsePath, readPath } from '../json/path.ts';
import { plainText } from '../template/render.ts';
import { countCharacters } from '../text/identifiers.ts';
import { type RuleArguments, type RuleStep, textStep } from './arguments.ts';
import { createTextMeter } from './budget.ts';

/** A part of a text, in UTF-16 units; `to` is exclusive. */
interface Range {
  readonly from: number;
  readonly to: number;
}

const TEXT_LENGTH_MAX = 4096;
const KEYS_MAX = 64;
const PATH_LENGTH_MAX = 1024;
const PATH_STEPS_MAX = 64;
const POSITION_MAX = Number.MAX_SAFE_INTEGER;

/** The position after the code point at `at`. */
function afterPoint(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}

/** The position after a number of code points, in units. */
function unitsBefore(text: string, points: number): number {
  let at = 0;
  for (let count = 0; count < points && at < text.length; count++) {
    at = afterPoint(text, at);
  }
  return at;
}

/** The range between two positions in code points. Negative positions count from the end; an end of 0 is the length. */
function rangeOf(text: string, start: number, end: number): Range {
  const length = countCharacters(text);
  const position = (at: number): number => (at < 0 ? Math.max(0, length + at) : Math.min(length, at));
  const from = unitsBefore(text, position(start));
  const to = end === 0 ? text.length : unitsBefore(text, position(end));
  return { from, to: Math.max(from, to) };
}

function readPositions(args: RuleArguments): { start: number; end: number } {
  const options = { min: -POSITION_MAX, max: POSITION_MAX, fallback: 0 };
  return { start: args.integer('start', options), end: args.integer('end', options) };
}

/** `stringify`: the JSON text of any value; a text gets quotes and escapes. */
export function compileStringify(): RuleStep {
  return stringifyJson;
}

/** `substr`: the code points from `start` up to `end` (exclusive); empty if the range is empty. */
export function compileSubstr(args: RuleArguments): RuleStep {
  const { start, end } = readPositions(args);
  return textStep((text) => {
    const { from, to } = rangeOf(text, start, end);
    return text.slice(from, to);
  });
}

/** `replace`: every occurrence of the literal text `substr`, from the left, becomes `new_str`. */
export function compileReplace(args: RuleArguments): RuleStep {
  const old = args.text('substr', { lengthMax: TEXT_LENGTH_MAX });
  const replacement = args.text('new_str', { lengthMax: TEXT_LENGTH_MAX });
  if (old === '') {
    throw args.invalid('substr', 'must not be empty');
  }
  const replacementBytes = Buffer.byteLength(replacement);
  return textStep((text) => {
    const pieces = text.split(old);
    createTextMeter()((pieces.length - 1) * replacementBytes);
    return pieces.join(replacement);
  });
}

/** `mask`: each code point from `start` up to `end`, except spaces, becomes `char`; positions as in `substr`. */
export function compileMask(args: RuleArguments): RuleStep {
  const { start, end } = readPositions(args);
  const char = args.text('char', { lengthMax: 2, fallback: '*' });
  if (countCharacters(char) !== 1) {
    throw args.invalid('char', 'must be one character');
  }
  return textStep((text) => {
    const { from, to } = rangeOf(text, start, end);
    const masked = text.slice(from, to).replace(/[^ ]/gu, char);
    return text.slice(0, from) + masked + text.slice(to);
  });
}

/**
 * `format`: `format_string` with each `%v` replaced by the plain text of the next field in `keys`; a missing field is
 * empty. `%%` is one percent sign, any other `%` is literal. Keys are paths from the input, and from the whole working
 * object where the input is no object. `*` is the input itself.
 */
export function compileFormat(args: RuleArguments): RuleStep {
  const format = args.text('format_string', { lengthMax: TEXT_LENGTH_MAX });
  const keys = args.texts('keys', KEYS_MAX, PATH_LENGTH_MAX);
  const badKey = keys.findIndex((key) => key === '' || countSteps(key) > PATH_STEPS_MAX);
  if (badKey >= 0) {
    throw args.invalid(`keys[${badKey}]`, `must be a path with at most ${PATH_STEPS_MAX} steps`);
  }
  const pieces = splitFormat(format);
  if (pieces.length !== keys.length + 1) {
    throw args.invalid('keys', 'must have one name for each placeholder of `format_string`');
  }
  const paths = keys.map(parsePath);
  return (input, { whole }) => {
    const write = createTextMeter();
    return pieces.reduce((text, piece, at) => {
      const path = paths[at - 1];
      const found = readPath(input, path) ?? (input instanceof Map ? undefined : readPath(whole(), path));
      const value = plainText(found);
      write(Buffer.byteLength(value));
      return text + value + piece;
    });
  };
}

/** The literal texts before, between and after the `%v` of a format string. */
function splitFormat(format: string): string[] {
  const pieces = [''];
  for (const part of format.split(/(%[%v])/)) {
    if (part === '%v') {
      pieces.push('');
    } else {
      pieces.push((pieces.pop() ?? '') + (part === '%%' ? '%' : part));
    }
  }
  return pieces;
}
