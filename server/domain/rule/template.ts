import { VaultError } from '../../core/errors.ts';
import { type JsonValue, parseJson } from '../json/json.ts';
import { createJsonEscape, plainEscape } from '../template/escape.ts';
import { parseTemplate, type Template } from '../template/parse.ts';
import { renderTemplate } from '../template/render.ts';
import { type RuleArguments, type RuleStep, textStep } from './arguments.ts';
import { createTextMeter, overLimit } from './budget.ts';

const TEMPLATE_LENGTH_MAX = 65_536;

const encoder = new TextEncoder();

/** The value of a JSON text; undefined if invalid. Throws `rule_limit` if it is nested too deeply. */
function parseText(text: string): JsonValue | undefined {
  // Encoding would replace a lone surrogate by another character.
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

/** `parse_json`: the value of a JSON text; numbers keep their literal. */
export function compileParseJson(): RuleStep {
  return textStep(parseText);
}

function readTemplate(args: RuleArguments): Template {
  const text = args.text('template', { lengthMax: TEMPLATE_LENGTH_MAX });
  try {
    return parseTemplate(text);
  } catch (error) {
    throw error instanceof VaultError
      ? args.invalid('template', 'must be a Mustache template without partials and changed delimiters')
      : error;
  }
}

/**
 * `template`: the template, filled from the input, or from the whole working object for names that it cannot have. A
 * template that starts with `{` or `[` is JSON: values are escaped for their position, and the result is the parsed
 * object or array. If the filled text is invalid, for example because a value has duplicated a member name, the input
 * counts as unsupported. Any other template results in a text without escaping.
 */
export function compileTemplate(args: RuleArguments): RuleStep {
  const template = readTemplate(args);
  const isJson = template.firstCharacter === '{' || template.firstCharacter === '[';
  return (input, { spend, checkTime, whole }) => {
    const text = renderTemplate(template, input, {
      outer: input instanceof Map ? undefined : whole(),
      escape: isJson ? createJsonEscape() : plainEscape,
      meter: { spend, write: createTextMeter() },
    });
    checkTime();
    const value = isJson ? parseText(text) : text;
    return (typeof value === 'string') === isJson || value === undefined ? undefined : value;
  };
}
