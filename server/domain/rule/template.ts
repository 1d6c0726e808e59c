import { VaultError } from '../../core/errors.ts';
import { type JsonValue, parseJson } from '../json/json.ts';
import { createJsonEscape, plainEscape } from '../template/escape.ts';
import { renderTemplate } from '../template/render.ts';
import { parseTemplate, type Template } from '../template/template.ts';
import type { RuleArguments, RuleStep } from './arguments.ts';
import { createTextMeter, overLimit } from './budget.ts';
import { inputText } from './text.ts';

const TEMPLATE_LENGTH_MAX = 65_536;

const encoder = new TextEncoder();

/** The value of a JSON text; `undefined` when it is none, over the limit when it is nested too deep. */
function parseText(text: string): JsonValue | undefined {
  // Encoding would turn a lone surrogate into another character.
  if (!text.isWellFormed()) {
    return undefined;
  }
  try {
    return parseJson(encoder.encode(text));
  } catch (error) {
    if (error instanceof VaultError && error.code === 'json_too_deep') {
      throw overLimit();
    }
    return undefined;
  }
}

/** `parse_json`: the value of a JSON text, numbers kept as they are written. */
export function compileParseJson(): RuleStep {
  return (input) => {
    const text = inputText(input);
    return text === undefined ? undefined : parseText(text);
  };
}

function readTemplate(args: RuleArguments): Template {
  const text = args.text('template', { lengthMax: TEMPLATE_LENGTH_MAX });
  try {
    return parseTemplate(text);
  } catch (error) {
    throw error instanceof VaultError ? args.invalid('template') : error;
  }
}

/**
 * `template`: the template filled from the input. When its own text starts with `{` or `[` it is JSON: values are
 * escaped for their place (`createJsonEscape`) and the result is the object or array that the filled text contains;
 * when it contains none, for example because a value made a member name appear twice, the operation cannot work on
 * its input. Any other template gives a text, with nothing escaped.
 */
export function compileTemplate(args: RuleArguments): RuleStep {
  const template = readTemplate(args);
  const isJson = template.firstCharacter === '{' || template.firstCharacter === '[';
  return (input, { spend, checkTime }) => {
    const text = renderTemplate(template, input, {
      escape: isJson ? createJsonEscape() : plainEscape,
      meter: { spend, write: createTextMeter() },
    });
    checkTime();
    const value = isJson ? parseText(text) : text;
    return (typeof value === 'string') === isJson || value === undefined ? undefined : value;
  };
}
