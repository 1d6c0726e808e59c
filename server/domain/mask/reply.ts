/** Masks numbers and verification codes in a third party's reply. */
import { isDigit, onlyDigits } from '../card/digits.ts';
import { mayHaveSadName } from '../card/sensitive-names.ts';
import { isJsonText, visitJson } from '../text/json-tokens.ts';
import { Edits, endOfCharacter, type Notations, readAs, type View, writtenFrom } from '../text/notations.ts';
import { wholeDigits } from './found-numbers.ts';
import { literalsOf, quoted } from './json-literal.ts';
import { maskText } from './mask-text.ts';
import { plainNumbers, UNSEEN } from './plain-numbers.ts';
import { hideCodes, hideJsonCodes } from './reply-codes.ts';
import { type Automaton, automatonOf, isHiddenRun, type StoredNumbers, stateAfter } from './reply-numbers.ts';

/** Format of a text. A header's line is `text`. */
export type ReplyFormat = 'json' | 'form' | 'xml' | 'text';

/** Notations of each format. */
const OWN: Readonly<Record<ReplyFormat, Notations>> = {
  json: ['backslash'],
  form: ['percent', 'plus'],
  xml: ['entity'],
  text: [],
};
/** Notations of texts in another format within it. */
const OTHERS: Readonly<Record<ReplyFormat, Notations>> = {
  json: ['percent', 'entity'],
  form: ['backslash', 'entity'],
  xml: ['percent', 'backslash'],
  text: ['backslash', 'percent', 'entity'],
};

/** Notations of digits, and of separators between two. */
const OF_DIGITS: Readonly<Record<Notations[number], string>> = {
  backslash: '\\\\(?:[ ./\\d-]|u)',
  percent: '%[2-7c-f][\\da-f]',
  plus: '\\+',
  entity: '&(?:#|nbsp|shy|(?:en|em|thin)sp|zw|[nm]dash)',
};
const OTHER_DIGITS: Readonly<Record<ReplyFormat, RegExp>> = {
  json: digitsIn(OTHERS.json),
  form: digitsIn(OTHERS.form),
  xml: digitsIn(OTHERS.xml),
  text: digitsIn(OTHERS.text),
};

function digitsIn(notations: Notations): RegExp {
  return new RegExp(notations.map((notation) => OF_DIGITS[notation]).join('|'), 'i');
}

function allOf(format: ReplyFormat): Notations {
  return [...OWN[format], ...OTHERS[format]];
}

/** Shorter runs are no numbers. */
const RUN_MIN = 6;
/** Longer whole numbers are not written with an exponent. */
const WHOLE_MAX = 64;

const UNSEEN_UNIT = UNSEEN.charCodeAt(0);

/** One of these may separate two digits: a space, `-` or `.`. */
function isSeparator(unit: number): boolean {
  return unit === 0x20 || unit === 0x2d || unit === 0x2e;
}

/** A run of digits and its place in the view; `to` is exclusive. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly digits: string;
}

interface Treatment {
  /** The text that replaces a run, or undefined. `plain` is the view's text with plain numbers. */
  run(view: View, run: Run, plain: string): string | undefined;
  /** The text that replaces a JSON number, or undefined. `digits` are those of a whole number. */
  literal(literal: string, digits: string | undefined): string | undefined;
}

/** The run that begins with the digit at `from`; it ends before `to`. */
function runAt(plain: string, from: number, to: number): Run {
  let end = from;
  let mayGo = true;
  for (let at = from; at < to; at++) {
    const unit = plain.charCodeAt(at);
    if (isDigit(unit)) {
      end = at + 1;
      mayGo = true;
    } else if (unit !== UNSEEN_UNIT) {
      if (!mayGo || !isSeparator(unit)) {
        break;
      }
      mayGo = false;
    }
  }
  return { from, to: end, digits: onlyDigits(plain.slice(from, end)) };
}

/** Treats the runs of digits in parts of a text, which are given in ascending order. */
function runsOf(view: View, edits: Edits, treatment: Treatment): (from: number, to: number) => void {
  const plain = plainNumbers(view.text);
  const literalAt = literalsOf(view);
  return (from, to) => {
    for (let at = from; at < to; at++) {
      if (!isDigit(plain.charCodeAt(at))) {
        continue;
      }
      const run = runAt(plain, at, to);
      const end = endOfCharacter(view.text, run.to);
      const shown = run.digits.length < RUN_MIN ? undefined : treatment.run(view, run, plain);
      at = end;
      if (shown !== undefined) {
        const literal = literalAt(run.from, end, from);
        at = literal?.to ?? end;
        edits.replace(literal?.from ?? run.from, at, quoted(view, run.from, end, shown, literal));
      }
    }
  };
}

/** Treats the runs of a text without notations. */
function treatPlain(text: string, treatment: Treatment): string {
  return treatView(readAs(text, []), false, treatment);
}

function treatView(view: View, isJson: boolean, treatment: Treatment): string {
  const edits = new Edits(view);
  const inText = runsOf(view, edits, treatment);
  if (!isJson) {
    inText(0, view.text.length);
    return edits.result();
  }
  visitJson(view, {
    name: inText,
    text: inText,
    number(from, to) {
      const literal = view.text.slice(from, to);
      const treated =
        to - from < RUN_MIN && !/e/i.test(literal)
          ? undefined
          : treatment.literal(literal, wholeDigits(literal, 1, WHOLE_MAX));
      if (treated !== undefined) {
        edits.replace(from, to, `"${treated}"`);
      }
    },
  });
  return edits.result();
}

/** Treats the numbers in any notation, whose runs are the longest, then those in the format's own notation. */
function treatNumbers(text: string, format: ReplyFormat, isJson: boolean, treatment: Treatment): string {
  const treated = OTHER_DIGITS[format].test(text)
    ? treatView(readAs(text, allOf(format)), isJson, treatment)
    : text;
  return treatView(readAs(treated, OWN[format]), isJson, treatment);
}

/** Masks a part of a text like {@link maskText}; visible characters keep their notation. */
function maskPart(view: View, from: number, to: number): string {
  const part = view.text.slice(from, to);
  const masked = maskText(part);
  if (view.starts === undefined) {
    return masked;
  }
  const shown = [...masked];
  let written = '';
  let at = from;
  for (const [index, character] of [...part].entries()) {
    const end = at + character.length;
    written += shown[index] === character ? writtenFrom(view, at, end) : '*';
    at = end;
  }
  return written;
}

/** No token is longer. */
const TOKEN_MAX = 64;
/** What a token is made of: digits of its number and of the hash, and what separates those of its number. */
const OF_TOKEN = /[\da-f -]/;

/** Tells whether a run stands in a whole value that is one of the tokens. */
function isInToken(text: string, { from, to }: Run, tokens: ReadonlySet<string>): boolean {
  if (tokens.size === 0) {
    return false;
  }
  let [start, end] = [from, to];
  while (end - start <= TOKEN_MAX && OF_TOKEN.test(text.charAt(start - 1))) {
    start--;
  }
  while (end - start <= TOKEN_MAX && OF_TOKEN.test(text.charAt(end))) {
    end++;
  }
  return tokens.has(text.slice(start, end).trim());
}

function maskTreatment(numbers: StoredNumbers): Treatment {
  const treatment: Treatment = {
    run(view, run) {
      const { from, to, digits } = run;
      return isHiddenRun(digits, numbers) && !isInToken(view.text, run, numbers.tokens)
        ? maskPart(view, from, endOfCharacter(view.text, to))
        : undefined;
    },
    literal(literal, digits) {
      const isHidden = digits !== undefined && isHiddenRun(digits, numbers);
      return isHidden || treatPlain(literal, treatment) !== literal ? maskText(literal) : undefined;
    },
  };
  return treatment;
}

/** The format of a text whose type tells none, by its look. */
function formatOf(text: string, given: ReplyFormat): ReplyFormat {
  return given === 'text' && /^\ufeff?\s*[[{]/.test(text) && isJsonText(text) ? 'json' : given;
}

/**
 * Masks a reply's text in linear time. A run of 12 or more digits of any script, also separated by single spaces, `-` or
 * `.`, that contains a stored number or one that passes Luhn is masked except for its last four digits; a stored number of
 * 6 to 11 digits only if it is a whole run. Values under the name of a verification code are hidden completely. JSON stays
 * JSON, also within other texts: a masked number becomes a text. A text without any of them is returned as it is.
 */
export function maskReply(text: string, given: ReplyFormat, numbers: StoredNumbers): string {
  const format = formatOf(text, given);
  const isJson = format === 'json' && isJsonText(text);
  const view = readAs(treatNumbers(text, format, isJson, maskTreatment(numbers)), allOf(format));
  if (!mayHaveSadName(view.text)) {
    return view.source;
  }
  return isJson ? hideJsonCodes(view) : hideCodes(view, format === 'form');
}

/** A number that was sent, and its replacement. */
interface Sent {
  readonly digits: string;
  readonly shown: string;
}

/** Shorter sent numbers may be anything else in a reply. */
const SENT_MIN = 8;

/** Sent numbers in a run of digits, in order; of overlapping ones the first, and of those the longest. */
function sentIn(
  digits: string,
  sent: readonly Sent[],
  automaton: Automaton,
): (Sent & { readonly end: number })[] {
  const found: (Sent & { readonly end: number })[] = [];
  let state = 0;
  for (let at = 0; at < digits.length; at++) {
    state = stateAfter(automaton, state, digits.charCodeAt(at));
    const number = sent[(automaton.ends[state] ?? 0) - 1];
    if (number === undefined) {
      continue;
    }
    const end = at + 1;
    const start = end - number.digits.length;
    let last = found.at(-1);
    while (last !== undefined && last.end - last.digits.length >= start) {
      found.pop();
      last = found.at(-1);
    }
    if (last === undefined || last.end <= start) {
      found.push({ ...number, end });
    }
  }
  return found;
}

/** The places of the digits in a run. */
function placesOf(plain: string, { from, to }: Run): number[] {
  const places: number[] = [];
  for (let at = from; at < to; at++) {
    if (isDigit(plain.charCodeAt(at))) {
      places.push(at);
    }
  }
  return places;
}

/**
 * Replaces sent numbers of 8 or more digits in a reply's text, in linear time, wherever a run of digits contains them. A
 * JSON number becomes a text. A text without any of them is returned as it is.
 */
export function replaceNumbers(text: string, given: ReplyFormat, sent: readonly Sent[]): string {
  const numbers = sent.filter(({ digits }) => digits.length >= SENT_MIN && onlyDigits(digits) === digits);
  if (numbers.length === 0) {
    return text;
  }
  const automaton = automatonOf(numbers.map(({ digits }) => digits));
  const byDigits = new Map(numbers.map(({ digits, shown }) => [digits, shown]));
  const treatment: Treatment = {
    run(view, run, plain) {
      const found = sentIn(run.digits, numbers, automaton);
      const places = found.length === 0 ? [] : placesOf(plain, run);
      let replaced = '';
      let done = run.from;
      for (const { digits, shown, end } of found) {
        replaced += writtenFrom(view, done, places[end - digits.length] ?? 0) + shown;
        done = endOfCharacter(view.text, (places[end - 1] ?? 0) + 1);
      }
      const last = endOfCharacter(view.text, run.to);
      return found.length === 0 ? undefined : replaced + writtenFrom(view, done, last);
    },
    literal(literal, digits) {
      const whole = byDigits.get(digits ?? '');
      const treated = whole ?? treatPlain(literal, treatment);
      return treated === literal ? undefined : treated;
    },
  };
  const format = formatOf(text, given);
  return treatNumbers(text, format, format === 'json' && isJsonText(text), treatment);
}
